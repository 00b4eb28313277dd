"""Engines: what runs plans. Each is loaded by name, so that importing Tidelog imports none of them."""
