//! A PostgreSQL of the tests' own: a fresh cluster on a free port, gone with the process that started it.

#![allow(unreachable_pub, reason = "the conversations use the same file")]

use super::Place;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::OnceLock,
    sync::atomic::{AtomicU32, Ordering},
};

/// Waits on its standard input, which ends when the test process does, however it ends. A line of it breaks the server
/// off without a word to anybody, and starts it again after so many seconds.
const KEEPER: &str = r#"
start() {
    "$1/postgres" -D "$2/data" -p "$3" -k "$2" -c listen_addresses=127.0.0.1 -c max_connections=300 >>"$2/log" 2>&1 &
    server=$!
    until "$1/pg_isready" -q -h 127.0.0.1 -p "$3"; do kill -0 $server || { echo "postgres ended"; exit 1; }; sleep 0.05; done
    echo ready
}
"$1/initdb" -D "$2/data" -U postgres -A trust --no-sync >"$2/initdb.log" 2>&1 || { echo "initdb failed"; exit 1; }
start "$@"
while read -r outage; do kill -QUIT $server; wait $server; sleep "$outage"; start "$@"; done
kill -INT $server
wait $server
rm -rf "$2"
"#;

/// A server with databases of its own.
pub struct Cluster {
    port: u16,
    said: BufReader<ChildStdout>,
    /// Its standard input is held open for as long as the server is wanted.
    keeper: Child,
}

static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// An empty database, or none where PostgreSQL is not installed.
pub(super) async fn place() -> Option<Place> {
    let cluster = tokio::task::spawn_blocking(|| CLUSTER.get_or_init(cluster).as_ref()).await.unwrap()?;
    Some(Place { url: cluster.database().await, _folder: None })
}

impl Cluster {
    /// An empty database.
    pub async fn database(&self) -> String {
        let name = format!("t{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let server = format!("postgres://postgres@127.0.0.1:{}", self.port);
        let admin = sqlx::PgPool::connect(&format!("{server}/postgres")).await.unwrap();
        sqlx::query(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&admin).await.unwrap();
        admin.close().await;
        format!("{server}/{name}")
    }

    /// Breaks it off; it comes back after so many seconds. Waits for that.
    #[allow(dead_code, reason = "not everybody who has a cluster restarts it")]
    pub fn restarted(mut self, outage: u32) -> Self {
        let mut ask = self.keeper.stdin.as_ref().unwrap();
        writeln!(ask, "{outage}").unwrap();
        self.until_ready();
        self
    }

    fn until_ready(&mut self) {
        let mut said = String::new();
        self.said.read_line(&mut said).unwrap();
        assert_eq!(said.trim(), "ready", "PostgreSQL on port {} does not start", self.port);
    }
}

/// A cluster of the caller's own, gone with this process.
pub fn cluster() -> Option<Cluster> {
    let Some(programs) = programs() else {
        assert!(std::env::var_os("CI").is_none(), "PostgreSQL is not installed");
        eprintln!("skipped: PostgreSQL is not installed (/usr/lib/postgresql/*/bin)");
        return None;
    };
    let folder = tempfile::Builder::new().prefix("fixpoint-pg").tempdir().unwrap().keep();
    // The server refuses to run as root.
    let user = if rustix::process::geteuid().is_root() { postgres_user() } else { None };
    if let Some((uid, gid)) = user {
        chown(&folder, Some(uid), Some(gid)).unwrap();
    }
    let port = free_port();
    let mut keeper = Command::new("sh");
    keeper.args(["-c", KEEPER, "sh"]).arg(programs).arg(&folder).arg(port.to_string());
    keeper.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some((uid, gid)) = user {
        keeper.uid(uid).gid(gid);
    }
    // A signal to the tests' process group must not reach the server before the tests have ended.
    let mut keeper = keeper.process_group(0).spawn().unwrap();
    let said = BufReader::new(keeper.stdout.take().unwrap());
    let mut cluster = Cluster { port, said, keeper };
    cluster.until_ready();
    Some(cluster)
}

/// One that nobody has, and that the system gives to nobody by itself: the server takes it once its folder is made, and again
/// after an outage.
fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = (std::process::id() % 500) * 20 + TAKEN.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + u16::try_from(next % 10_000).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|v| Some(v.ok()?.path().join("bin")));
    folders.filter(|bin| bin.join("initdb").exists()).max()
}

fn postgres_user() -> Option<(u32, u32)> {
    let passwd = fs::read_to_string(Path::new("/etc/passwd")).ok()?;
    let line = passwd.lines().find(|l| l.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
