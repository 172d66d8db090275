use table_orm::TableEntity;

/// Allowed: another order, other properties, a condition, another partition, or what is accepted.
#[derive(Clone, TableEntity)]
#[table(name = "walks", partition = "{club}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(board, key = "BOARD:{bib:05}", exclude(name))]
#[row(late, key = "LATE:{bib:05}", when = Walk::is_late)]
#[row(by_name, key = "NAME:{name}__{bib:05}")]
#[row(by_newest, key = "NEW:{newest}")]
#[row(everywhere, partition = "all", key = "WALK:{club}__{bib:05}", eventual)]
#[row(by_number, key = "NR:{bib}", allow_duplicate)]
#[component(newest = desc(bib))]
struct Walk {
    club: String,
    bib: u32,
    name: String,
}

impl Walk {
    fn is_late(&self) -> bool {
        self.bib > 900
    }
}

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_number, key = "NR:{bib}")]
#[row(by_name, key = "NAME:{name}__{bib:05}", include(name))]
#[row(by_full_name, key = "FULL:{name}__{bib:05}", exclude(bib, club))]
struct Run {
    club: String,
    bib: u32,
    name: String,
}

fn main() {}
