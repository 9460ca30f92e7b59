//! The parser of places on the command line: folders, object stores, and words.

use std::ffi::OsStr;
use std::fmt::Display;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

/// Parses a place from the command line. An error does not show the URL, which may hold a secret.
#[derive(Debug, Clone, Copy)]
pub struct PlaceParser<P>(PhantomData<P>);

impl<P> PlaceParser<P> {
    /// Returns the parser.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<P> Default for PlaceParser<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> TypedValueParser for PlaceParser<P>
where
    P: FromStr<Err: Display> + From<PathBuf> + Clone + Send + Sync + 'static,
{
    type Value = P;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<P, clap::Error> {
        // A folder need not have a name that is text.
        let Some(text) = value.to_str() else { return Ok(PathBuf::from(value).into()) };
        text.parse::<P>().map_err(|why| {
            let argument = argument.map_or_else(String::new, ToString::to_string);
            let what = format!("invalid value for '{argument}': {why}");
            command.clone().error(ErrorKind::ValueValidation, what)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use bitacora_archiver::ArchiveLocation;
    use bitacora_data_folder::AnchorPlace;

    use super::*;

    fn parse<P>(value: &OsStr) -> Result<P, String>
    where
        P: FromStr<Err: Display> + From<PathBuf> + Clone + Send + Sync + 'static,
    {
        let place = clap::Arg::new("place").long("place").value_parser(PlaceParser::<P>::new());
        let given = [OsStr::new("it"), OsStr::new("--place"), value];
        let parsed = clap::Command::new("it").arg(place).try_get_matches_from(given);
        parsed.map(|mut parsed| parsed.remove_one("place").unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_folder_need_not_be_text() {
        let name = OsStr::from_bytes(b"/caf\xe9");
        assert_eq!(parse(name), Ok(ArchiveLocation::Folder(name.into())));
        assert_eq!(parse(name), Ok(AnchorPlace::Folder(name.into())));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_secret_in_it() {
        let wrong = OsStr::new("s3://key:hunter2@bucket/x");
        for told in [parse::<ArchiveLocation>(wrong).unwrap_err(), parse::<AnchorPlace>(wrong).unwrap_err()] {
            assert!(
                told.contains("invalid value for '--place <place>'") && !told.contains("hunter2"),
                "{told}"
            );
        }
    }
}
