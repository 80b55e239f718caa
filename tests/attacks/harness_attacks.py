"""Nothing at all: what an ordinary client sees of a server that nobody attacks, to hold the others against."""
import time

from arena import attack


@attack(0, "nobody attacks")
def nobody(arena):
    server = arena.serve()
    with arena.bystander(server):
        time.sleep(5)
