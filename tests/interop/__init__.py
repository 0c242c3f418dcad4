"""Real packages of other projects, against proctor."""
