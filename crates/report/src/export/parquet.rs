//! Apache Parquet files. Columns are typed, nullable, and compressed with zstd. Counts are signed 64-bit integers,
//! because every reader supports this type.

use super::ExportError;
use super::column::{Column, Get, Table};
use crate::escape::escape;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows per row group. A group of operations takes about 20 MB.
const GROUP_ROWS: usize = 1 << 16;

impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> Self {
        match error {
            // Return the writer's own error, so that a message can report a full disk.
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(error) => Self::Io(*error),
                Err(other) => Self::Form(other.to_string()),
            },
            other => Self::Form(other.to_string()),
        }
    }
}

/// The buffered values of a column. `present` is 1 for each row with a value, and 0 for each row without one.
struct Buffered {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Counts(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<ByteArray>),
}

/// A table as Parquet.
pub struct ParquetTable<'a, R: 'static> {
    columns: &'static [Column<R>],
    writer: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    buffered: Vec<Buffered>,
    rows: usize,
}

impl<'a, R> ParquetTable<'a, R> {
    /// Writes the header of the file, and returns the table.
    pub fn new(columns: &'static [Column<R>], out: &'a mut (dyn Write + Send)) -> Result<Self, ExportError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("plimsoll {}", env!("CARGO_PKG_VERSION")))
            .build();
        let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("plimsoll").with_fields(fields).build()?;
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let buffered = columns.iter().map(Buffered::of).collect();
        Ok(Self { columns, writer, buffered, rows: 0 })
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for buffered in &mut self.buffered {
            match &mut buffered.values {
                Values::Counts(values) => write::<Int64Type>(&mut group, values, &buffered.present)?,
                Values::Numbers(values) => write::<DoubleType>(&mut group, values, &buffered.present)?,
                Values::Texts(values) => write::<ByteArrayType>(&mut group, values, &buffered.present)?,
            }
            buffered.present.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

/// Writes the next column of a row group.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
    values: &mut Vec<T::T>,
    present: &[i16],
) -> Result<(), ExportError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ExportError::Form("the row group has fewer columns than the table".to_owned()))?;
    column.typed::<T>().write_batch(values, Some(present), None)?;
    column.close()?;
    values.clear();
    Ok(())
}

fn field<R>(column: &Column<R>) -> Result<Type, ParquetError> {
    let (physical, converted, logical) = match column.get {
        Get::Count(_) => (Physical::INT64, ConvertedType::NONE, None),
        Get::Number(_) => (Physical::DOUBLE, ConvertedType::NONE, None),
        Get::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_converted_type(converted)
        .with_logical_type(logical)
        .build()
}

impl Buffered {
    fn of<R>(column: &Column<R>) -> Self {
        let values = match column.get {
            Get::Count(_) => Values::Counts(Vec::new()),
            Get::Number(_) => Values::Numbers(Vec::new()),
            Get::Text(_) => Values::Texts(Vec::new()),
        };
        Self { values, present: Vec::new() }
    }

    fn add<R>(&mut self, get: &Get<R>, row: &R) {
        let present = match (&mut self.values, get) {
            (Values::Counts(values), Get::Count(of)) => {
                keep(values, of(row).map(|value| i64::try_from(value).unwrap_or(i64::MAX)))
            }
            (Values::Numbers(values), Get::Number(of)) => keep(values, of(row).filter(|value| value.is_finite())),
            (Values::Texts(values), Get::Text(of)) => {
                keep(values, of(row).map(|text| ByteArray::from(escape(&text).into_bytes())))
            }
            // Cannot happen, because the buffers were created from the same columns.
            _ => {
                debug_assert!(false, "the type of a value differs from the type of its column");
                false
            }
        };
        self.present.push(i16::from(present));
    }
}

fn keep<V>(values: &mut Vec<V>, value: Option<V>) -> bool {
    let present = value.is_some();
    values.extend(value);
    present
}

impl<R> Table<R> for ParquetTable<'_, R> {
    fn row(&mut self, row: &R) -> Result<(), ExportError> {
        for (buffered, column) in self.buffered.iter_mut().zip(self.columns) {
            buffered.add(&column.get, row);
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.write_group()?;
        let out = self.writer.into_inner()?;
        Ok(out.flush()?)
    }
}
