#!/usr/bin/env python3
"""Makes triangles.bin, and the inputs of the small launch: volume.bin, active.bin and offsets.bin.

The table has a row of 16 words for each of the 256 ways in which the corners of a cube can lie inside the surface: the
edges that the triangles' corners lie on, three a triangle, and -1 after the last. It comes from the geometry: on each
face, the surface cuts off the corners that lie inside; the cuts of the six faces join to polygons, which are fanned
into triangles.
"""
import array

# Corners as CUDA's volume code numbers them, and edges as pairs of corners.
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
# Each face as a ring of corners, counter-clockwise as seen from outside.
FACES = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
ROW = 16
SIZE = 12


def edge(a, b):
    return next(i for i, ends in enumerate(EDGES) if set(ends) == {a, b})


def row(inside):
    # Around a face, a cut begins on the edge where the ring leaves the inside and ends on the one where it entered it.
    follow = {}
    for ring in FACES:
        entered = [i for i in range(4) if ring[i - 1] not in inside and ring[i] in inside]
        for i in entered:
            last = i
            while ring[(last + 1) % 4] in inside:
                last += 1
            follow[edge(ring[last % 4], ring[(last + 1) % 4])] = edge(ring[i - 1], ring[i])
    words = []
    while follow:
        polygon = [min(follow)]
        while polygon[-1] in follow:
            polygon.append(follow.pop(polygon[-1]))
        polygon.pop()
        for i in range(1, len(polygon) - 1):
            words += [polygon[0], polygon[i], polygon[i + 1]]
    assert len(words) < ROW, words
    return words


def main():
    rows = [row({c for c in range(8) if case >> c & 1}) for case in range(256)]
    table = array.array("i")
    for words in rows:
        table.extend(words + [-1] * (ROW - len(words)))
    table.tofile(open("triangles.bin", "wb"))

    # A volume of samples around zero: two waves and a slope, so that the surface is not a plane.
    state = 1
    volume = array.array("f")
    for z in range(SIZE):
        for y in range(SIZE):
            for x in range(SIZE):
                state = (1103515245 * state + 12345) % 2 ** 31
                volume.append(abs(x % 6 - 3) + abs(y % 8 - 4) - 0.5 * z + state / 2 ** 31)
    volume.tofile(open("volume.bin", "wb"))
    active, offsets, vertices = array.array("I"), array.array("I"), 0
    for z in range(SIZE - 1):
        for y in range(SIZE - 1):
            for x in range(SIZE - 1):
                case = sum(1 << c for c, (dx, dy, dz) in enumerate(CORNERS)
                           if volume[((z + dz) * SIZE + y + dy) * SIZE + x + dx] < 0.75)
                if rows[case]:
                    active.append((z * SIZE + y) * SIZE + x)
                    offsets.append(vertices)
                    vertices += len(rows[case])
    active.tofile(open("active.bin", "wb"))
    offsets.tofile(open("offsets.bin", "wb"))
    print(len(active), "cubes are cut,", vertices, "corners of triangles")


main()
