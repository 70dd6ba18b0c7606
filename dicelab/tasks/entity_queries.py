"""The questions that a reader of entities is asked, one for each type."""

from __future__ import annotations

ENGLISH = {
    "PER": "Which people are named in the text, by first name, last name or both?",
    "LOC": "Which places are named: mountains, rivers, seas, regions, roads or sights?",
    "ORG": "Which organisations are named: companies, clubs, parties, agencies or schools?",
    "MISC": "Which other names occur: nationalities, religions, events, languages or works?",
    "GPE": "Which countries, states, provinces or cities are named?",
    "FAC": "Which buildings, airports, bridges or highways are named?",
    "NORP": "Which nationalities, religions or political groups are mentioned?",
    "PRODUCT": "Which products, vehicles, devices, games or foods are named?",
    "EVENT": "Which events are named: wars, storms, matches or festivals?",
    "WORK_OF_ART": "Which books, songs, films, shows or paintings are named?",
    "LAW": "Which laws, treaties or named documents occur?",
    "LANGUAGE": "Which languages are named?",
    "DATE": "Which days, months, years or periods longer than a day are mentioned?",
    "TIME": "Which times of the day, or periods shorter than a day, are mentioned?",
    "PERCENT": "Which percentages are mentioned?",
    "MONEY": "Which sums of money are mentioned, with their currency?",
    "QUANTITY": "Which measured amounts are mentioned: weights, lengths or areas?",
    "ORDINAL": "Which ordinal numbers occur, such as first or tenth?",
    "CARDINAL": "Which other numbers occur?",
    "PERSON": "Which people are named in the text, by first name, last name or both?",
    "LOCATION": "Which places are named: mountains, rivers, cities, countries or roads?",
    "CORPORATION": "Which companies are named?",
    "CREATIVE-WORK": "Which songs, books, films or games are named?",
    "GROUP": "Which groups are named: bands, teams, clubs or organisations?",
}

CHINESE = {
    "PER": "文中提到了哪些人的姓名？",
    "PERSON": "文中提到了哪些人的姓名？",
    "LOC": "文中提到了哪些地点，如山川、河流、地区或道路？",
    "ORG": "文中提到了哪些机构，如公司、学校、团体或政府部门？",
    "GPE": "文中提到了哪些国家、省份或城市？",
    "PRODUCT": "文中提到了哪些产品？",
}


def query(entity_type: str, language: str = "en") -> str:
    """The question for a type.

    Args:
        entity_type: such as ``"PER"``; upper and lower case are the same.
        language: ``"en"`` or ``"zh"``. Chinese questions come one character a word, as the
            corpora's sentences do.

    Returns:
        Our question, or for a type without one a question made from its name.
    """
    name = entity_type.upper()
    if language == "zh":
        return " ".join(CHINESE.get(name, f"文中提到了哪些{entity_type}？"))
    words = entity_type.lower().replace("_", " ").replace("-", " ")
    return ENGLISH.get(name, f"Which names of the kind {words} occur in the text?")
