"""What works behind the API on its own: garbage collection, namespaces, CRDs."""
