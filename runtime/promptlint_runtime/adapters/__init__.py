"""Models behind one protocol: `base.Adapter`."""
