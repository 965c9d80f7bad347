"""What the models of a design answer, recorded, stored and counted."""
