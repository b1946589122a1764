"""What people look at: a run held against the paper, and other pictures of training and of models."""
