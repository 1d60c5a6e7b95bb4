//! What holds in a repository: the operator's bounds, the repository's wishes within them, and whether anybody may read it.

use super::{
    Dependencies, Mistake, PATH, People, Publish, Read, RepoConfig, Rerun, SecondPerson, Service, Title,
    Update, settings::PathSettings, shown, words::Glob, words::Name,
};
use crate::domain::{
    Actor, Fault, Limits, Number,
    egress::{AllowList, Destination},
    policy::Rules,
    seeded,
    text::meant,
};

/// Allowed names that are told when another was written.
const FEW: usize = 5;

/// The bounds that the operator sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operator {
    /// What a session may use.
    pub limits: Limits,
    /// What a repository may spend in a day (UTC), in millionths of a dollar.
    pub day_micros: u64,
    /// A person sees every change before it is pushed.
    pub ask_first: bool,
    /// Globs of paths that are never pushed.
    pub deny: Vec<String>,
    /// The App may write workflow files.
    pub workflows: bool,
    /// Models that may be used; the first is used where nobody chooses.
    pub models: Vec<String>,
    /// Images that may be chosen besides the operator's own.
    pub images: Vec<String>,
    /// Images that may run as services.
    pub services: Vec<String>,
    /// What a sandbox may reach.
    pub reachable: AllowList,
}

impl Operator {
    /// One who also allows the models and images that a file names: where nobody knows which are allowed.
    #[must_use]
    pub fn allowing(mut self, config: &RepoConfig) -> Self {
        let models = config.model.iter().chain(config.models.iter().flatten());
        self.models.extend(models.map(|name| name.get().to_owned()));
        self.images.extend(config.image.iter().map(|name| name.get().to_owned()));
        let services = config.services.iter().flat_map(|services| services.values());
        self.services.extend(services.map(|service| service.image.get().to_owned()));
        let wanted = config.egress.iter().flatten();
        self.reachable.extend(wanted.filter_map(|name| name.get().parse().ok()));
        self
    }
}

/// What holds in one repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Something may be begun here.
    pub enabled: bool,
    /// The model; `None`: the operator's own.
    pub model: Option<String>,
    /// The models that `--model` may choose.
    pub models: Vec<String>,
    /// The sandbox's image; `None`: the operator's own.
    pub image: Option<String>,
    /// What runs beside the sandbox.
    pub services: Vec<Service>,
    /// What is installed before the agent begins.
    pub dependencies: Option<Dependencies>,
    /// Commands that are run before the agent begins.
    pub setup: Vec<String>,
    /// What its sandbox may reach.
    pub reachable: AllowList,
    /// The operator's limits, with this repository's rounds and money.
    pub limits: Limits,
    /// What may be spent here in a day (UTC), in millionths of a dollar.
    pub day_micros: u64,
    /// Which checks count.
    pub checks: Checks,
    /// Whose red checks are mended without being asked.
    pub autofix: Autofix,
    /// The names of labels.
    pub labels: Labels,
    /// What may be pushed.
    pub rules: Rules,
    /// When a person is asked before a push.
    pub ask: Ask,
    /// Whose approval the pull request needs before its check `fixpoint/second-person` passes.
    pub second_person: SecondPerson,
    /// How a conflict with the base is mended.
    pub update: Update,
    /// Commits carry a `Signed-off-by` line of whoever asked.
    pub sign_off: bool,
    /// How a pull request's title is made; `None`: as it comes.
    pub title: Option<Title>,
    /// Text for the agent besides the repository's own instruction files.
    pub instructions: Option<String>,
    /// What in the file could not be used, from top to bottom.
    pub mistakes: Vec<Mistake>,
}

/// Which checks count, and what a red one leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Names or globs of checks that do not count.
    pub ignore: Vec<String>,
    /// Names of checks that must be there and pass, besides those GitHub requires.
    pub require: Vec<String>,
    /// When a red check is run again before a round is spent on it.
    pub rerun: Rerun,
}

/// Whose red checks are mended without being asked. Two switches: neither implies the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Autofix {
    /// On which people's pull requests.
    pub people: People,
    /// On pull requests of these bots: logins in lower case, without `[bot]`.
    pub bots: Vec<String>,
}

impl Autofix {
    /// Is this bot's pull request one of those? `login` as GitHub writes it.
    pub fn takes_bot(&self, login: &str) -> bool {
        let login = login.trim_end_matches("[bot]");
        self.bots.iter().any(|bot| bot.eq_ignore_ascii_case(login))
    }
}

/// The names of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Starts a session, allows `autofix: label`.
    pub start: String,
    /// A person is needed.
    pub needs_human: String,
    /// Nothing begins by itself.
    pub opt_out: String,
}

/// When a person is asked before a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// Where the policy wants it.
    Never,
    /// Where text by people without write access reached the model and CI would hand the change something worth having.
    WhenExposed,
    /// Always.
    Always,
}

impl Ask {
    /// Is a person asked about a change of a session like that?
    pub fn asks(self, tainted: bool, exposed: bool) -> bool {
        match self {
            _ if seeded(Fault::NeverAsked) => false,
            Self::Never => false,
            Self::WhenExposed => tainted && exposed,
            Self::Always => true,
        }
    }
}

impl Publish {
    /// What a repository's wish comes to. Anybody can write on a public repository, so there the careful middle is the
    /// least; nobody's `auto` goes below it, nor below what the operator wants.
    pub fn effective(wish: Option<Self>, public: bool, ask_first: bool) -> Ask {
        match wish {
            _ if ask_first => Ask::Always,
            Some(Self::Ask) => Ask::Always,
            _ if public => Ask::WhenExposed,
            _ => Ask::Never,
        }
    }
}

impl Effective {
    /// Puts together what the operator allows and what the repository's file says.
    pub fn of(read: Read, operator: &Operator, public: bool) -> Self {
        let Read { config: wishes, mut mistakes } = read;
        let mut refused = Refused { config: &wishes, mistakes: &mut mistakes };
        let model = refused.choice("model", wishes.model.as_ref(), &operator.models);
        let models = refused.choices(wishes.models.as_deref(), &operator.models);
        let image = refused.choice("image", wishes.image.as_ref(), &operator.images);
        let services = refused.services(&operator.services);
        let reachable = refused.destinations(wishes.egress.as_deref(), &operator.reachable);
        mistakes.sort();
        let checks = wishes.checks.clone().unwrap_or_default();
        let autofix = wishes.autofix.clone().unwrap_or_default();
        Self {
            enabled: wishes.enabled.unwrap_or(true),
            model,
            models,
            image,
            services,
            dependencies: wishes.dependencies.as_ref().map(Dependencies::of),
            setup: wishes.setup.iter().flatten().map(|line| line.get().to_owned()).collect(),
            reachable,
            limits: limits(&wishes, &operator.limits),
            day_micros: lower(operator.day_micros, wishes.budget.as_ref().and_then(|b| b.day)),
            checks: Checks {
                ignore: names(checks.ignore.as_deref()),
                require: names(checks.require.as_deref()),
                rerun: checks.rerun.unwrap_or_default(),
            },
            autofix: Autofix {
                people: autofix.people.unwrap_or_default(),
                bots: autofix.bots.iter().flatten().map(|bot| bot.get().to_owned()).collect(),
            },
            labels: labels(&wishes),
            rules: rules(&wishes, operator),
            ask: Publish::effective(wishes.publish, public, operator.ask_first),
            second_person: wishes.second_person.unwrap_or_default(),
            update: wishes.update.unwrap_or_default(),
            sign_off: wishes.sign_off.unwrap_or_default(),
            instructions: wishes.instructions.as_ref().map(|text| text.get().to_owned()),
            title: wishes.title,
            mistakes,
        }
    }

    /// The title of a pull request whose change is summed up like that.
    pub fn titled(&self, summary: String, issue: Number) -> String {
        match &self.title {
            Some(title) => title.of(&summary, issue.0),
            None => summary,
        }
    }

    /// A commit's message, signed off by whoever asked where that is wanted. `message` ends with its trailers.
    pub fn signed(&self, message: String, asker: &Actor) -> String {
        if !self.sign_off {
            return message;
        }
        let Actor { id, login } = asker;
        // GitHub's own address of an account: stable, and nobody's private one. Source: GitHub, "Setting your commit email
        // address".
        format!("{}\nSigned-off-by: {login} <{id}+{login}@users.noreply.github.com>\n", message.trim_end())
    }

    /// What people are told of the file's mistakes, in one line; `None`: there is none.
    pub fn remark(&self) -> Option<String> {
        let first = self.mistakes.first()?;
        let (line, column) = (first.line, first.column);
        let more = match self.mistakes.len() - 1 {
            0 => String::new(),
            1 => " One more mistake is in it.".to_owned(),
            more => format!(" {more} more mistakes are in it."),
        };
        Some(format!("`{PATH}:{line}:{column}`: {}; the defaults hold.{more}", first.message))
    }
}

fn limits(wishes: &RepoConfig, operator: &Limits) -> Limits {
    let rounds = wishes.rounds.map_or(operator.rounds, |rounds| rounds.get().min(operator.rounds));
    let request = wishes.budget.as_ref().and_then(|budget| budget.request);
    Limits { rounds, request_micros: lower(operator.request_micros, request), ..operator.clone() }
}

fn lower(bound: u64, wish: Option<super::Money>) -> u64 {
    wish.map_or(bound, |money| money.micros().min(bound))
}

fn names(list: Option<&[Name]>) -> Vec<String> {
    list.unwrap_or_default().iter().map(|name| name.get().to_owned()).collect()
}

fn labels(wishes: &RepoConfig) -> Labels {
    let labels = wishes.labels.clone().unwrap_or_default();
    let or = |name: Option<Name>, usual: &str| name.as_ref().map_or(usual, Name::get).to_owned();
    Labels {
        start: or(labels.start, "fixpoint"),
        needs_human: or(labels.needs_human, "needs-human"),
        opt_out: or(labels.opt_out, "no-fixpoint"),
    }
}

/// The file itself is closed whatever it says: an agent does not write its own rules.
fn rules(wishes: &RepoConfig, operator: &Operator) -> Rules {
    let PathSettings { allow, deny } = wishes.paths.clone().unwrap_or_default();
    let patterns = |globs: Vec<Glob>| globs.iter().flat_map(Glob::patterns).collect::<Vec<_>>();
    let deny = patterns(deny.unwrap_or_default());
    Rules {
        workflows: operator.workflows && wishes.workflows.unwrap_or_default(),
        allow: allow.map(patterns),
        deny: operator.deny.iter().cloned().chain(deny).chain([PATH.to_owned()]).collect(),
    }
}

/// Takes note of choices that the operator does not offer.
struct Refused<'a> {
    config: &'a RepoConfig,
    mistakes: &'a mut Vec<Mistake>,
}

impl Refused<'_> {
    fn choice(&mut self, key: &str, wish: Option<&Name>, offered: &[String]) -> Option<String> {
        let wish = wish?.get();
        if offered.iter().any(|name| name == wish) {
            return Some(wish.to_owned());
        }
        let (line, column) = self.config.places.get(key).copied().unwrap_or((1, 1));
        let few: Vec<String> = offered.iter().take(FEW).map(|name| format!("\"{}\"", shown(name))).collect();
        let known: Vec<&str> = offered.iter().map(String::as_str).collect();
        let what = key.split('.').next().unwrap_or(key).trim_end_matches('s');
        let hint = match (meant(wish, &known), few.is_empty()) {
            (_, true) => ": it allows none to be chosen".to_owned(),
            (meant, false) if meant.is_empty() => format!(": it allows {}", few.join(", ")),
            (meant, false) => meant,
        };
        let message = format!("the operator does not allow the {what} \"{}\"{hint}", shown(wish));
        self.mistakes.push(Mistake { line, column, message });
        None
    }

    /// Those of images that may run beside a sandbox; another is left out, and told.
    fn services(&mut self, offered: &[String]) -> Vec<Service> {
        let wishes = self.config.services.iter().flatten();
        let taken = wishes.filter_map(|(name, service)| {
            self.choice(&format!("services.{}.image", name.get()), Some(&service.image), offered)?;
            Some(Service::of(name, service))
        });
        taken.collect()
    }

    /// The operator's list, narrowed. What it holds is not told here: on a public repository anybody would read of machines
    /// inside.
    fn destinations(&mut self, wishes: Option<&[Name]>, offered: &AllowList) -> AllowList {
        let Some(wishes) = wishes else { return offered.clone() };
        let mut wanted: Vec<Destination> = Vec::new();
        for (n, wish) in wishes.iter().enumerate() {
            match wish.get().parse() {
                Ok(to) if offered.connect(&to).is_ok() => wanted.push(to),
                read => {
                    let key = format!("egress.{n}");
                    let (line, column) = self.config.places.get(&key).copied().unwrap_or((1, 1));
                    let wish = shown(wish.get());
                    let message = match read {
                        Ok(_) => format!("the operator does not allow a sandbox to reach \"{wish}\""),
                        Err(error) => format!("\"{wish}\": {error}"),
                    };
                    self.mistakes.push(Mistake { line, column, message });
                }
            }
        }
        offered.narrowed(&wanted)
    }

    fn choices(&mut self, wishes: Option<&[Name]>, offered: &[String]) -> Vec<String> {
        let Some(wishes) = wishes else { return offered.to_vec() };
        let each = wishes.iter().enumerate();
        each.filter_map(|(n, wish)| self.choice(&format!("models.{n}"), Some(wish), offered)).collect()
    }
}
