//! State → the JSON that GitHub sends. Every required field of GitHub's published schemas is there.

mod actions;
mod checks;
mod git;
mod issues;
mod pulls;
mod repositories;

use super::state::{ACTIONS_APP, Id, Kind, Reaction, World, stamp};
use serde_json::{Map, Value, json};

pub(crate) use git::{short_sha, simple_commit};
pub(crate) use repositories::permissions;

/// Reactions in the order of GitHub's roll-up.
pub(crate) const REACTIONS: [&str; 8] =
    ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"];

/// The opaque id that GraphQL takes; ours can be read back by [`from_node_id`].
pub(crate) fn node_id(kind: &str, id: Id) -> String {
    format!("{kind}_{id}")
}

pub(crate) fn from_node_id(node: &str) -> Option<(&str, Id)> {
    let (kind, id) = node.rsplit_once('_')?;
    id.parse().ok().map(|id| (kind, id))
}

impl World {
    pub(crate) fn show_user(&self, id: Id) -> Value {
        let Some(user) = self.users.get(&id) else { return Value::Null };
        let login = &user.login;
        let path = login.replace('[', "%5B").replace(']', "%5D");
        let url = format!("{}/users/{path}", self.api);
        let html = match login.strip_suffix("[bot]") {
            Some(slug) => format!("{}/apps/{slug}", self.web),
            None => format!("{}/{login}", self.web),
        };
        json!({
            "login": login,
            "id": id,
            "node_id": node_id("U", id),
            "avatar_url": format!("{}/avatars/{id}", self.web),
            "gravatar_id": "",
            "url": url,
            "html_url": html,
            "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": match user.kind { Kind::User => "User", Kind::Bot => "Bot", Kind::Organization => "Organization" },
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    pub(crate) fn show_users(&self, ids: &[Id]) -> Vec<Value> {
        ids.iter().map(|id| self.show_user(*id)).collect()
    }

    /// The `organization` of a webhook, where the owner is one.
    pub(crate) fn show_organization(&self, id: Id) -> Option<Value> {
        let user = self.users.get(&id).filter(|user| user.kind == Kind::Organization)?;
        let url = format!("{}/orgs/{}", self.api, user.login);
        Some(json!({
            "login": user.login,
            "id": id,
            "node_id": node_id("O", id),
            "url": url,
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events"),
            "hooks_url": format!("{url}/hooks"),
            "issues_url": format!("{url}/issues"),
            "members_url": format!("{url}/members{{/member}}"),
            "public_members_url": format!("{url}/public_members{{/member}}"),
            "avatar_url": format!("{}/avatars/{id}", self.web),
            "description": null,
        }))
    }

    /// An App as checks, comments and `GET /app` show it.
    pub(crate) fn show_app(&self, id: Id) -> Value {
        let (slug, name, client_id) = if id == self.app.id {
            (self.app.slug.as_str(), self.app.name.as_str(), self.app.client_id.as_str())
        } else if id == ACTIONS_APP {
            ("github-actions", "GitHub Actions", "Iv1.actions")
        } else {
            ("other-app", "Other App", "Iv1.other")
        };
        let ours = id == self.app.id;
        let events: Vec<&String> = self.app.events.iter().filter(|_| ours).collect();
        let permissions =
            if ours { json!(self.app.permissions) } else { json!({ "checks": "write", "metadata": "read" }) };
        let created = stamp(self.app.created);
        json!({
            "id": id,
            "client_id": client_id,
            "slug": slug,
            "node_id": node_id("A", id),
            "owner": self.show_user(self.app.owner),
            "name": name,
            "description": "",
            "external_url": format!("{}/apps/{slug}", self.web),
            "html_url": format!("{}/apps/{slug}", self.web),
            "created_at": created,
            "updated_at": created,
            "permissions": permissions,
            "events": events,
        })
    }

    /// `performed_via_github_app`.
    pub(crate) fn show_via(&self, via_app: bool) -> Value {
        if via_app { self.show_app(self.app.id) } else { Value::Null }
    }

    pub(crate) fn show_installation(&self) -> Value {
        let app = &self.app;
        let id = app.installation;
        let everywhere = self.repositories.values().all(|repo| repo.installed);
        let created = stamp(app.created);
        let owner = self.users.get(&app.owner).map_or(Kind::User, |user| user.kind);
        json!({
            "id": id,
            "client_id": app.client_id,
            "account": self.show_user(app.owner),
            "repository_selection": if everywhere { "all" } else { "selected" },
            "access_tokens_url": format!("{}/app/installations/{id}/access_tokens", self.api),
            "repositories_url": format!("{}/installation/repositories", self.api),
            "html_url": format!("{}/settings/installations/{id}", self.web),
            "app_id": app.id,
            "app_slug": app.slug,
            "target_id": app.owner,
            "target_type": if owner == Kind::Organization { "Organization" } else { "User" },
            "permissions": app.permissions,
            "events": app.events,
            "created_at": created,
            "updated_at": created,
            "single_file_name": null,
            "has_multiple_single_files": false,
            "single_file_paths": [],
            "suspended_by": app.suspended.map(|_| self.show_user(app.owner)),
            "suspended_at": app.suspended.map(stamp),
        })
    }

    pub(crate) fn show_reaction(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id,
            "node_id": node_id("REA", reaction.id),
            "user": self.show_user(reaction.user),
            "content": reaction.content,
            "created_at": stamp(reaction.created),
        })
    }
}

/// The `reactions` of an issue or comment.
pub(crate) fn roll_up(reactions: &[Reaction], url: &str) -> Value {
    let mut sum = Map::new();
    sum.insert("url".into(), format!("{url}/reactions").into());
    sum.insert("total_count".into(), reactions.len().into());
    for content in REACTIONS {
        let count = reactions.iter().filter(|reaction| reaction.content == content).count();
        sum.insert(content.into(), count.into());
    }
    Value::Object(sum)
}
