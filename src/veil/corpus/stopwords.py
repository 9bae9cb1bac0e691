"""English function words: articles, pronouns, prepositions, conjunctions, auxiliaries."""

STOP_WORDS: frozenset[str] = frozenset(
    """
    a an the this that these those each every either neither some any no none all both such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one ones who whom
    whose which what whatever whichever whoever someone somebody something anyone anybody anything
    everyone everybody everything nobody nothing
    about above across after against along among around as at before behind below beneath beside
    besides between beyond by despite down during except for from in inside into like near of off
    on onto out outside over past per since than through throughout till to toward towards under
    until up upon via with within without
    and but or nor so yet if unless whether while whereas although though because when whenever
    where wherever why how
    am is are was were be been being do does did doing done have has had having can could may might
    must shall should will would ought
    not only own same too very just also even ever never here there then thus hence again once more
    most much many few less least other another rather quite almost
    """.split()
)
