"""What another form may be made of: modules of known classes, their weights carried over."""
