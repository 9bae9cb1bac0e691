"""Neighbours with numba: lists of similar items by counts of likes, and predicted ratings.

Ratings are predicted from near rows, one similarity row at a time. A row is a user (userknn) or an
item (itemknn). Memory is seven numbers per row and thread, never rows x rows.
"""

import numpy as np

from veil.data.compiled import compiled


@compiled()
def nearest_items(by_item, likers, by_user, liked, k, first, last, index, sims):
    """Fill the lists (m, k) of the items first..last-1; -1 and 0 pad.

    The order is that of c_ij^2 / c_j, which is rounded only once, so equal cosines stay equal.
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
    """Score items for the users first..last-1 by summing the similarities to their likes."""
    for row in range(first, last):
        u = users[row]
        for at in range(by_user[u], by_user[u + 1]):
            j = liked[at]
            for other in range(in_lists[j], in_lists[j + 1]):
                scores[row, listed[other]] += weights[other]


GRADES = 256  # steps of similarity; a heap orders similarities of the same step


@compiled()
def _similarities(row, starts, columns, shifted, by_column, rows, column_shifted, sums, sims,
                  shrinkage, least):  # fmt: skip
    """Fill `sims` with the similarity of `row` to every row, over their common columns only."""
    sums[:] = 0.0
    for at in range(np.uintp(starts[row]), np.uintp(starts[row + 1])):
        x = shifted[at]
        square = x * x
        column = np.uintp(columns[at])
        for other in range(np.uintp(by_column[column]), np.uintp(by_column[column + 1])):
            y = column_shifted[other]
            v = np.uintp(rows[other])  # unsigned, which avoids a check for negative indices
            sums[v, 0] += x * y
            sums[v, 1] += square
            sums[v, 2] += y * y
            sums[v, 3] += 1.0
    for v in range(sums.shape[0]):
        common = sums[v, 3]
        lengths = sums[v, 1] * sums[v, 2]
        valid = common >= least and lengths > 0.0
        sims[v] = sums[v, 0] / np.sqrt(lengths) if valid else 0.0
    if shrinkage > 0.0:
        for v in range(sums.shape[0]):
            sims[v] *= sums[v, 3] / (sums[v, 3] + shrinkage)
    sims[row] = 0.0


@compiled()
def _sink(best, entries, size, place):
    """Sift an entry down a heap whose top is the least similar entry, the last one on ties."""
    sim, at = best[place], entries[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size:
            equal = best[other] == best[child]
            if best[other] < best[child] or (equal and entries[other] > entries[child]):
                child = other
        if sim < best[child] or (sim == best[child] and at > entries[child]):
            break
        best[place] = best[child]
        entries[place] = entries[child]
        place = child
    best[place] = sim
    entries[place] = at


@compiled()
def _nearest(sims, rows, among, size, k, best, entries):
    """Select the k largest similarities of the entries `among`; ties go to the first."""
    count = 0
    for place in range(np.uintp(size)):
        at = among[place]
        sim = sims[np.uintp(rows[at])]
        if count < k:
            best[count] = sim
            entries[count] = at
            count += 1
            if count == k:
                for top in range(k // 2 - 1, -1, -1):
                    _sink(best, entries, k, top)
        elif sim > best[0]:
            best[0] = sim
            entries[0] = at
            _sink(best, entries, k, 0)
    return count


@compiled()
def _grade(sims, grades):
    """Put positive similarities into `GRADES` - 1 steps from the least to the largest; else 0."""
    low, high = np.inf, 0.0
    for v in range(len(sims)):
        if sims[v] > 0.0:
            low = min(low, sims[v])
            high = max(high, sims[v])
    scale = (GRADES - 2) / (high - low) if high > low else 0.0
    for v in range(len(sims)):
        grades[v] = 1 + int((sims[v] - low) * scale) if sims[v] > 0.0 else 0


@compiled()
def _limit(grades, rows, first, last, k, counts):
    """Return the grade of the k-th largest similarity, and the number of entries above it."""
    if last - first <= k:  # all positive entries are neighbours
        return 0, 0
    counts[:] = 0
    for at in range(np.uintp(first), np.uintp(last)):
        counts[np.uintp(grades[np.uintp(rows[at])])] += 1
    above, grade = 0, GRADES - 1
    while grade > 0 and above + counts[grade] < k:
        above += counts[grade]
        grade -= 1
    return grade, above


@compiled()
def _weighted(sims, grades, rows, values, first, last, k, counts, among, best, entries):
    """Return the sum of the k largest similarities times values, and their sum.

    Entries above the grade of the k-th are added without a branch; the heap selects among those of
    that grade.
    """
    grade, taken = _limit(grades, rows, first, last, k, counts)
    above, below, size = 0.0, 0.0, 0
    for at in range(np.uintp(first), np.uintp(last)):
        v = np.uintp(rows[at])
        own = grades[v]
        sim = sims[v] if own > grade else 0.0
        above += sim * values[at]
        below += sim
        among[size] = at
        size += own == grade
    if grade > 0:
        for at in range(_nearest(sims, rows, among, size, k - taken, best, entries)):
            above += best[at] * values[entries[at]]
            below += best[at]
    return above, below


@compiled()
def predict(groups, group_starts, targets, starts, columns, shifted, by_column, rows,
            column_shifted, column_values, k, shrinkage, least, signed, first, last,
            ratings):  # fmt: skip
    """Fill `ratings` (pairs,) for the groups first..last-1 of pairs with one row each; else nan.

    `column_values` are the ratings, minus the row means if ratings are centred.
    """
    n = len(starts) - 1
    sums = np.empty((n, 4))
    sims = np.empty(n)
    depth = max(k, 1)
    best = np.empty(depth)
    entries = np.empty(depth, np.int64)
    grades = np.empty(n, np.uint8)
    counts = np.empty(GRADES, np.int32)
    among = np.empty(n + 1, np.int64)
    for group in range(first, last):
        _similarities(groups[group], starts, columns, shifted, by_column, rows, column_shifted,
                      sums, sims, shrinkage, least)  # fmt: skip
        _grade(sims, grades)
        for pair in range(group_starts[group], group_starts[group + 1]):
            begin, end = by_column[targets[pair]], by_column[targets[pair] + 1]
            above, below = 0.0, 0.0
            if k > 0:
                above, below = _weighted(sims, grades, rows, column_values, begin, end, k,
                                         counts, among, best, entries)  # fmt: skip
            else:
                for at in range(begin, end):
                    sim = sims[rows[at]]
                    if sim > 0.0 or signed:
                        above += sim * column_values[at]
                        below += sim
            ratings[pair] = above / below if below != 0.0 else np.nan
