//! How our program gets into a container: by a named volume, filled once per content by a plain tar into a
//! container that never runs.
//!
//! Not by a bind mount: those break when fixpoint itself runs in a container, on remote engines, and on Macs.

use super::container::{EPOCH, INSTANCE, PROGRAM, PROGRAM_FOLDER, SESSION};
use super::{DockerProvider, engine, missing};
use crate::sandbox::SandboxError;
use bollard::{
    models::{ContainerCreateBody, HostConfig, Mount, MountType, VolumeCreateRequest},
    query_parameters::{
        ContainerArchiveInfoOptionsBuilder, CreateContainerOptions, ListVolumesOptionsBuilder,
        RemoveVolumeOptions, UploadToContainerOptionsBuilder,
    },
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, io, path::Path, time::Duration};
use tokio_util::io::ReaderStream;

/// How often to try: two processes that fill one volume at once may undo each other's work.
const UPLOADS: u32 = 5;

/// How the names of all such volumes begin.
const PREFIX: &str = "fixpoint-toolbox-";

/// When the volume of another version may go; the engine itself keeps it while a container uses it.
const OLD: chrono::TimeDelta = chrono::TimeDelta::days(7);

/// A tar archive's unit.
const BLOCK: u64 = 512;

/// The program as it is on this machine.
#[derive(Clone, Debug)]
pub(super) struct Source {
    path: std::path::PathBuf,
    size: u64,
    hash: String,
}

impl Source {
    /// Reads the program; the running one where no other is given.
    pub(super) async fn read(path: Option<&Path>) -> Result<Self, SandboxError> {
        let path = match path {
            Some(path) => path.to_owned(),
            // Still the program that runs when its file has been replaced.
            None if cfg!(target_os = "linux") => "/proc/self/exe".into(),
            None => std::env::current_exe()?,
        };
        let hashing = path.clone();
        let digest = tokio::task::spawn_blocking(move || digest(&hashing)).await?;
        let (hash, size) = digest.map_err(|why| SandboxError::Other(format!("{}: {why}", path.display())))?;
        Ok(Self { path, size, hash })
    }

    fn volume(&self, arch: &str) -> String {
        format!("{PREFIX}{}-{arch}-{}", env!("CARGO_PKG_VERSION"), &self.hash[..16])
    }

    /// An archive of the one file.
    async fn tar(&self) -> io::Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>> {
        let mut header = tar::Header::new_gnu();
        header.set_path("fixpoint")?;
        header.set_size(self.size);
        header.set_mode(0o555);
        header.set_cksum();
        let head = Bytes::copy_from_slice(header.as_bytes());
        // The file's last block is filled up, and two empty blocks are the end.
        let fill =
            usize::try_from(self.size.next_multiple_of(BLOCK) - self.size + 2 * BLOCK).unwrap_or_default();
        let file = ReaderStream::with_capacity(tokio::fs::File::open(&self.path).await?, 256 << 10);
        let tail = Bytes::from(vec![0; fill]);
        Ok(stream::iter([Ok(head)]).chain(file).chain(stream::iter([Ok(tail)])))
    }
}

fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut size = 0;
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok((hex::encode(hasher.finalize()), size)),
            n => {
                hasher.update(&buffer[..n]);
                size += n as u64;
            }
        }
    }
}

impl DockerProvider {
    /// The volume that holds the program, filled when it is not yet.
    pub(super) async fn volume(&self, image: &str) -> Result<String, SandboxError> {
        let mut known = self.volume.lock().await;
        if let Some(name) = known.as_ref() {
            return Ok(name.clone());
        }
        let source = Source::read(self.settings.program.as_deref()).await?;
        let name = source.volume(&self.arch);
        let request = VolumeCreateRequest { name: Some(name.clone()), ..Default::default() };
        self.docker.create_volume(request).await.map_err(engine)?;
        let filler = self.filler(image, &name).await?;
        let filled = self.fill(&filler, &source).await;
        self.remove(&filler).await?;
        filled?;
        self.remove_old_volumes(&name).await;
        *known = Some(name.clone());
        Ok(name)
    }

    /// Each version brings a volume. What cannot be listed or removed now is left for the next time.
    async fn remove_old_volumes(&self, current: &str) {
        let filters = HashMap::from([("name", vec![PREFIX])]);
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let Ok(found) = self.docker.list_volumes(Some(options)).await else { return };
        for volume in found.volumes.unwrap_or_default() {
            let made =
                volume.created_at.as_deref().and_then(|at| chrono::DateTime::parse_from_rfc3339(at).ok());
            let old = made.is_some_and(|made| chrono::Utc::now().signed_duration_since(made) > OLD);
            if old && volume.name != current && volume.name.starts_with(PREFIX) {
                let _ = self.docker.remove_volume(&volume.name, None::<RemoveVolumeOptions>).await;
            }
        }
    }

    /// The volume may have been removed by hand: look again the next time.
    pub(super) async fn forget_volume(&self) {
        *self.volume.lock().await = None;
    }

    /// A container that is never started: files can be put into its volume all the same.
    async fn filler(&self, image: &str, volume: &str) -> Result<String, SandboxError> {
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            entrypoint: Some(vec![PROGRAM.into()]),
            labels: Some(self.filler_labels()),
            host_config: Some(HostConfig {
                network_mode: Some("none".into()),
                mounts: Some(vec![Mount {
                    typ: Some(MountType::VOLUME),
                    source: Some(volume.to_owned()),
                    target: Some(PROGRAM_FOLDER.into()),
                    ..Default::default()
                }]),
                ..Default::default()
            }),
            ..Default::default()
        };
        let made = self.docker.create_container(None::<CreateContainerOptions>, body).await;
        made.map(|made| made.id).map_err(|error| missing(error, image))
    }

    /// Of a session that never was: the sweep removes what an interrupted filling left.
    fn filler_labels(&self) -> HashMap<String, String> {
        let session = uuid::Uuid::nil().simple().to_string();
        let labels = [(INSTANCE, self.settings.instance.clone()), (SESSION, session), (EPOCH, "0".into())];
        labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    async fn fill(&self, filler: &str, source: &Source) -> Result<(), SandboxError> {
        let (mut uploads, mut before) = (0, None);
        loop {
            // The size is whole only once all of it has been written.
            let stored = self.stored_size(filler).await;
            if stored == Some(source.size) {
                return Ok(());
            }
            if stored.is_some() && stored != before {
                // It grows: another process is filling the same volume.
                before = stored;
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
            if uploads == UPLOADS {
                return Err(SandboxError::Engine("the program does not arrive whole in its volume".into()));
            }
            uploads += 1;
            let to = UploadToContainerOptionsBuilder::default().path(PROGRAM_FOLDER).build();
            let archive = bollard::body_try_stream(source.tar().await?);
            self.docker.upload_to_container(filler, Some(to), archive).await.map_err(engine)?;
        }
    }

    async fn stored_size(&self, filler: &str) -> Option<u64> {
        let at = ContainerArchiveInfoOptionsBuilder::default().path(PROGRAM).build();
        let found = self.docker.get_container_archive_info(filler, Some(at)).await.ok()?;
        u64::try_from(found.size).ok()
    }
}
