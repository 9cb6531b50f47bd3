"""What eta really buys: the adversary's success, who is exposed, and the cost, over eta and N."""
