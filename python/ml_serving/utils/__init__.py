"""See `helpers`."""
