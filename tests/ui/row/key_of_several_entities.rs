use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_club, key = "CLUB:{club}")]
#[row(by_low, key = "NAME:{low}", include())]
#[component(low = lower(name))]
struct Runner {
    race: String,
    bib: u32,
    club: String,
    name: String,
}

/// Unique by its own rows, or by what the app knows.
#[derive(TableEntity)]
#[table(name = "drivers", partition = "{race}", unique(chip))]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_chip, key = "CHIP:{chip}__{club}")]
#[row(by_lane, key = "LANE:{lane:02}", allow_key_conflict)]
#[row(by_club, key = "CLUB:{club}__{bib}")]
struct Driver {
    race: String,
    bib: u32,
    chip: String,
    club: String,
    lane: u8,
}

#[derive(TableEntity)]
#[table(name = "riders", partition = "{race}")]
#[row(by_name, key = "NAME:{low}")]
#[row(by_club, key = "CLUB:{club}__{low}")]
#[component(low = lower(name))]
struct Rider {
    race: String,
    name: String,
    club: String,
}

fn main() {}
