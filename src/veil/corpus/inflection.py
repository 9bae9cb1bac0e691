"""Inflected forms of English words: irregular forms from a table, regular ones by their endings.

The tables are for a WordNet without its lists of exceptions. Each line has a base form, then the
forms that WordNet's rules do not reduce to it.

`strict_forms` is for rules that allow a word, `loose_forms` for rules that forbid it. Neither uses
a dictionary, so a rule means the same on every machine.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

NOUNS = """
alumnus alumni
analysis analyses
axis axes
bacterium bacteria
basis bases
bronchus bronchi
cactus cacti
calf calves
child children
crisis crises
criterion criteria
diagnosis diagnoses
die dice
elf elves
embryo embryos
foot feet
fungus fungi
ganglion ganglia
goose geese
half halves
hypothesis hypotheses
knife knives
leaf leaves
life lives
loaf loaves
louse lice
man men
matrix matrices
medium media
metastasis metastases
mitochondrion mitochondria
mouse mice
neurosis neuroses
nucleus nuclei
ovum ova
ox oxen
person people
phenomenon phenomena
prognosis prognoses
prosthesis prostheses
psychosis psychoses
quiz quizzes
radius radii
scarf scarves
self selves
shelf shelves
stimulus stimuli
syllabus syllabi
synopsis synopses
synthesis syntheses
testis testes
thesis theses
thief thieves
thrombosis thromboses
thrombus thrombi
tooth teeth
vertebra vertebrae
virus viruses
wife wives
wolf wolves
woman women
"""

VERBS = """
arise arose arisen
be am is are was were been
bear bore borne
beat beaten
become became
begin began begun beginning
bend bent
bet betting
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
cut cutting
deal dealt
dig dug digging
do did done does
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
drop dropped dropping
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten getting
give gave given
go went gone goes
grind ground
grow grew grown
hang hung
have had has
hear heard
hide hid hidden
hit hitting
hold held
keep kept
kneel knelt
know knew known
lay laid
lead led
leave left
lend lent
lie lay lain lying
lose lost
make made
mean meant
meet met
pay paid
plan planned planning
prove proven
quit quitting
ride rode ridden
ring rang rung
rise rose risen
run ran running
say said
see saw seen
seek sought
sell sold
send sent
set setting
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
shut shutting
sing sang sung
sink sank sunk
sit sat sitting
sleep slept
slide slid
speak spoke spoken
spend spent
spin spun spinning
spread spreading
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
stop stopped stopping
strike struck stricken
strive strove striven
swear swore sworn
sweep swept
swell swollen
swim swam swum swimming
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weave wove woven
weep wept
win won winning
wind wound
withdraw withdrew withdrawn
write wrote written
"""

ADJECTIVES = """
bad worse worst
big bigger biggest
far farther farthest further furthest
fat fatter fattest
good better best
hot hotter hottest
little less least
sad sadder saddest
thin thinner thinnest
wet wetter wettest
"""


def exception_list(table: str) -> str:
    r"""Return a table in the format of WordNet's lists: a form and its base on each line.

    >>> exception_list("mouse mice")
    'mice mouse\n'
    """
    lines = []
    for line in table.split("\n"):
        base, *forms = line.split() or [""]
        lines += [f"{form} {base}\n" for form in forms]
    return "".join(lines)


Forms = Callable[[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class WordForms:
    """How to compare words: two words match if they have a form in common.

    `forms` returns the forms of any word, `base` those of a word that is a base form.
    """

    forms: Forms
    base: Forms


_ENDINGS = (  # of a form, of its base, and the condition on the base
    ("s", "", re.compile(r"[^s]$").search),
    ("es", "", re.compile(r"(?:[sxzo]|ch|sh)$").search),
    ("ies", "y", re.compile(r"[^aeiou]y$").search),
    ("ied", "y", re.compile(r"[^aeiou]y$").search),
    ("ed", "", bool),
    ("ed", "e", bool),
    ("ing", "", bool),
    ("ing", "e", bool),
)
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")  # doubles its last letter, as in plan, planned
_DOUBLED = re.compile(r"(.*([bdfgklmnprstvz]))\2")
_SHORTEST = 3  # minimum letters of a base


def strict_forms() -> WordForms:
    """Return forms by plurals and regular verbs only: *wound* does not match *to wind*."""
    return WordForms(_inflected, lambda word: frozenset({word}))


def loose_forms() -> WordForms:
    """Return forms by all inflections and by stems.

    Snowball's stems also match distantly related words, such as *organ* and *organic*: precise
    enough for rules that forbid, too coarse for rules that allow.
    """
    from nltk.stem.snowball import SnowballStemmer  # NLTK takes a second to load

    stem = SnowballStemmer("english").stem

    def forms(word: str) -> frozenset[str]:
        inflected = _inflected(word).union(_irregular(NOUNS, VERBS, ADJECTIVES).get(word, ()))
        return inflected.union(str(stem(form)) for form in inflected)

    return WordForms(forms, lambda word: frozenset({word, str(stem(word))}))


def _inflected(word: str) -> frozenset[str]:
    """Return a word and its possible base forms.

    >>> sorted(_inflected("planned")), sorted(_inflected("planes")), sorted(_inflected("mice"))
    (['plan', 'plann', 'planne', 'planned'], ['plane', 'planes'], ['mice', 'mouse'])
    """
    return frozenset({word, *_irregular(NOUNS).get(word, ()), *_bases(word)})


def _bases(word: str) -> Iterator[str]:
    for ending, instead, like in _ENDINGS:
        stem = word.removesuffix(ending)
        base = stem + instead
        if stem == word or len(base) < _SHORTEST or not like(base):
            continue
        if not _VOWEL.search(base.removesuffix("e")):  # thing, string
            continue
        verb = ending in ("ed", "ing") and not instead
        if verb and (doubled := _DOUBLED.fullmatch(base)):
            yield doubled[1]
        if not (verb and _SHORT.fullmatch(base)):
            yield base


@cache
def _irregular(*tables: str) -> dict[str, tuple[str, ...]]:
    """Return the base forms of irregular forms."""
    bases: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for line in exception_list(table).splitlines():
            form, base = line.split()
            bases[form] = (*bases.get(form, ()), base)
    return bases
