"""The items most like each item, by counting who likes both, and what follows for users."""

import numpy as np

from veil.data.compiled import compiled


@compiled()
def nearest_items(by_item, likers, by_user, liked, k, first, last, index, sims):
    """Fill the lists (m, k) of the items first..last-1; -1 and 0 pad.

    The order is that of c_ij^2 / c_j, which is rounded once: equal cosines stay equal.
    """
    m = len(by_item) - 1
    common = np.zeros(m, np.int32)
    touched = np.empty(m + 1, np.int32)
    best = np.empty(k)
    place_of = np.empty(k, np.int32)
    for i in range(first, last):
        count = 0
        for at in range(by_item[i], by_item[i + 1]):
            u = likers[at]
            for other in range(by_user[u], by_user[u + 1]):
                j = liked[other]
                c = common[j]
                touched[count] = j
                count += c == 0
                common[j] = c + 1
        common[i] = 0
        size = 0
        for at in range(count):
            j = touched[at]
            c = np.float64(common[j])
            common[j] = 0
            if c == 0.0:
                continue
            key = c * c / np.float64(by_item[j + 1] - by_item[j])
            if size == k and (key < best[k - 1] or (key == best[k - 1] and j > place_of[k - 1])):
                continue
            place = size if size < k else k - 1
            while place > 0:
                before = best[place - 1]
                if before > key or (before == key and place_of[place - 1] < j):
                    break
                best[place] = before
                place_of[place] = place_of[place - 1]
                place -= 1
            best[place] = key
            place_of[place] = j
            if size < k:
                size += 1
        own = np.float64(by_item[i + 1] - by_item[i])
        for at in range(size):
            index[i, at] = place_of[at]
            sims[i, at] = np.sqrt(best[at] / own)
        for at in range(size, k):
            index[i, at] = -1
            sims[i, at] = 0.0


@compiled()
def list_scores(in_lists, listed, weights, by_user, liked, users, first, last, scores):
    """Add up, for the users first..last-1, the similarities of liked items to what lists them."""
    for row in range(first, last):
        u = users[row]
        for at in range(by_user[u], by_user[u + 1]):
            j = liked[at]
            for other in range(in_lists[j], in_lists[j + 1]):
                scores[row, listed[other]] += weights[other]
