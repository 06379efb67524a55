"""The programs that are measured or that serve those that are: each runs as a process of its own,
takes orders as lines of JSON and answers each with one line. They know nothing of rounds, medians
or bars."""
