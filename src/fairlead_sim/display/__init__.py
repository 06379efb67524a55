"""How objects are shown: tables with their columns, and partial views."""
