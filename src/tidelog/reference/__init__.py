"""Reference reasoners: slow, small, obviously right. They share no code with plans, strategies or engines."""
