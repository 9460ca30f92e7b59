//! Lines of JSON as Parquet, beside zstd alone: a column for each member of any line, compressed by zstd.
//!
//! `cargo run --release --manifest-path tests/peers/Cargo.toml -p bitacora-peers-parquet -- FILE`, where FILE has an object of JSON
//! a line, compressed by zstd perhaps. Nothing is sealed, signed, indexed or proven in what it makes.

mod flat;

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use flat::{Column, ColumnTable, Values};

type ParquetError = Box<dyn Error + Send + Sync>;

/// Levels of zstd: the usual one, and that of cold archives.
const LEVELS: [i32; 2] = [3, 19];
/// The window of zstd's long matches, as a power of two, as in `bitacora bench --only archive`.
const LONG_WINDOW: u32 = 27;

#[derive(Debug, Parser)]
#[command(about = "Writes lines of JSON as Parquet, and says how many bytes that takes")]
struct ParquetArguments {
    /// Lines of JSON objects.
    file: PathBuf,
}

fn main() -> Result<(), ParquetError> {
    let text = read(&ParquetArguments::parse().file)?;
    let table = ColumnTable::read(&text)?;
    println!("{} bytes in {} lines, {} columns", text.len(), table.rows, table.columns.len());
    let says = |what: &str, bytes: u64| {
        println!("{what:<36} {bytes:>10} bytes, {:>6.2} times smaller", text.len() as f64 / bytes as f64);
    };
    for level in LEVELS {
        says(&format!("zstd -{level}"), zstd_alone(&text, level, false)?);
    }
    says("zstd -19 --long=27", zstd_alone(&text, 19, true)?);
    for (version, said) in [(WriterVersion::PARQUET_1_0, "1.0"), (WriterVersion::PARQUET_2_0, "2.0")] {
        for level in LEVELS {
            let bytes = parquet(&table, version, level)?.len() as u64;
            says(&format!("Parquet {said} with zstd level {level}"), bytes);
        }
    }
    Ok(())
}

fn read(path: &PathBuf) -> Result<Vec<u8>, ParquetError> {
    let bytes = fs::read(path)?;
    let is_packed = path.extension().is_some_and(|extension| extension == "zst");
    Ok(if is_packed { zstd::decode_all(bytes.as_slice())? } else { bytes })
}

/// Counts what is written to it.
#[derive(Default)]
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn zstd_alone(mut text: &[u8], level: i32, is_long: bool) -> Result<u64, ParquetError> {
    let mut encoder = zstd::stream::write::Encoder::new(ByteCounter::default(), level)?;
    if is_long {
        encoder.long_distance_matching(true)?;
        encoder.window_log(LONG_WINDOW)?;
    }
    io::copy(&mut text.by_ref(), &mut encoder)?;
    Ok(encoder.finish()?.0)
}

/// The table as a Parquet file: rows of a group, pages and dictionaries as the library has them by default.
fn parquet(table: &ColumnTable, version: WriterVersion, level: i32) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(|column| field(column).map(Arc::new));
    let schema = Type::group_type_builder("line").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(level)?))
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut rows = writer.next_row_group()?;
    for column in &table.columns {
        let mut target = rows.next_column()?.ok_or("a column less than the schema has")?;
        let present: Vec<i16> = column.present.iter().map(|is_there| i16::from(*is_there)).collect();
        match (target.untyped(), &column.values) {
            (ColumnWriter::Int64ColumnWriter(target), Values::Integers(values)) => {
                target.write_batch(values, Some(&present), None)?
            }
            (ColumnWriter::DoubleColumnWriter(target), Values::Fractions(values)) => {
                target.write_batch(values, Some(&present), None)?
            }
            (ColumnWriter::BoolColumnWriter(target), Values::Booleans(values)) => {
                target.write_batch(values, Some(&present), None)?
            }
            (ColumnWriter::ByteArrayColumnWriter(target), Values::Texts(values)) => {
                let values: Vec<ByteArray> = values.iter().map(|text| text.as_str().into()).collect();
                target.write_batch(&values, Some(&present), None)?
            }
            _ => return Err("a column of another type than the schema says".into()),
        };
        target.close()?;
    }
    rows.close()?;
    writer.close()?;
    Ok(bytes)
}

/// The column's place in the schema: optional, and of the type that its values have.
fn field(column: &Column) -> Result<Type, ParquetError> {
    use parquet::basic::{LogicalType, Repetition, Type as Physical};
    let (physical, logical) = match column.values {
        Values::Integers(_) => (Physical::INT64, None),
        Values::Fractions(_) => (Physical::DOUBLE, None),
        Values::Booleans(_) => (Physical::BOOLEAN, None),
        Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    Ok(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn what_is_written_is_what_the_lines_say() {
        let lines = br#"{"n":1,"within":{"deep":{"text":"x"}},"f":1.5,"is":true,"mixed":[1,"y"],"none":null}
{"n":-9007199254740993,"within":{"deep":null},"f":2,"mixed":"z"}

{"within":{"deep":{"text":"\"q\""}},"is":false,"mixed":{}}
"#;
        let table = ColumnTable::read(lines).unwrap();
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bytes = parquet(&table, version, 3).unwrap();
            let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
            let rows = reader.get_row_iter(None).unwrap();
            let said = rows.map(|row| {
                let row = row.unwrap();
                row.get_column_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
            });
            // In the order of their names.
            let expected = [
                ["f=1.5", "is=true", "mixed=\"[1,\"y\"]\"", "n=1", "within.deep.text=\"x\""],
                ["f=2.0", "is=null", "mixed=\"z\"", "n=-9007199254740993", "within.deep.text=null"],
                ["f=null", "is=false", "mixed=null", "n=null", "within.deep.text=\"\"q\"\""],
            ];
            assert_eq!(said.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn lines_that_are_no_objects_are_refused() {
        for lines in [&b"[1]"[..], b"{", b"x\n{}", b"\xFF"] {
            assert!(ColumnTable::read(lines).is_err(), "{lines:?}");
        }
    }
}
