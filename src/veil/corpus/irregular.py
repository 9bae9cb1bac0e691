"""Irregular English forms and their base form, for a WordNet that comes without its own list.

One line per base form: the base, then the forms that the rules of WordNet do not lead back to it.
"""

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


def exceptions(table: str) -> str:
    r"""Write a table as WordNet's lists are: one form per line, and its base.

    >>> exceptions("mouse mice")
    'mice mouse\n'
    """
    lines = []
    for line in table.split("\n"):
        base, *forms = line.split() or [""]
        lines += [f"{form} {base}\n" for form in forms]
    return "".join(lines)
