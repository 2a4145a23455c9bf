# SPDX-License-Identifier: GPL-2.0-only
"""What each python3 of the demonstration does.

It builds a table that is the same in every interpreter, and an index of it
that is made of objects, whose addresses differ. Then it obeys lines: check
(compare every byte of the table, block by block, with what it must be), touch
(change every sixteenth block), end.
"""

import hashlib
import sys

BLOCK = 65536
ENTRIES = 10000
NOISE = hashlib.shake_128(b"table").digest(1 << 20)


def block(number, touched):
    """A passage of the noise, at a place of its own for each block."""
    step = 524309 if touched and number % 16 == 0 else 12289
    place = number * step % (len(NOISE) - BLOCK)
    return NOISE[place:place + BLOCK]


def entries(table):
    return {f"entry {k}": table[k * 4099 % len(table)] for k in range(ENTRIES)}


def right(table, index, count, touched):
    return index == entries(table) and all(
        table[k * BLOCK:(k + 1) * BLOCK] == block(k, touched) for k in range(count))


def main():
    count = int(sys.argv[1])
    touched = False
    table = bytearray(count * BLOCK)
    for k in range(count):
        table[k * BLOCK:(k + 1) * BLOCK] = block(k, touched)
    index = entries(table)
    print("ready", flush=True)
    for line in sys.stdin:
        order = line.strip()
        if order == "end":
            break
        if order == "touch":
            touched = True
            for k in range(0, count, 16):
                table[k * BLOCK:(k + 1) * BLOCK] = block(k, touched)
            index = entries(table)
            print("touched", flush=True)
        elif order == "check":
            print("right" if right(table, index, count, touched) else "wrong",
                  flush=True)


main()
