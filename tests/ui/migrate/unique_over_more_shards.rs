use table_orm::TableEntity;

#[derive(Clone, TableEntity)]
#[table(name = "players", partition = "{share}", row = "P:{id:05}", unique(mail))]
#[component(share = shard(id, 16))]
struct PlayerV1 {
    id: u32,
    mail: String,
}

#[derive(Clone, TableEntity)]
#[table(name = "players", partition = "{share}", row = "PLAYER:{id:05}", unique(mail), migrate_from = PlayerV1)]
#[component(share = shard(id, 32))]
struct Player {
    id: u32,
    mail: String,
}

impl From<PlayerV1> for Player {
    fn from(PlayerV1 { id, mail }: PlayerV1) -> Self {
        Self { id, mail }
    }
}

impl From<Player> for PlayerV1 {
    fn from(Player { id, mail }: Player) -> Self {
        Self { id, mail }
    }
}

fn main() {}
