//! Tables as Parquet. Each column is written at once, with a level that marks missing values.

use super::tables::{Field, Kind, Table};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use spec::problem::Problems;
use std::sync::Arc;

/// Writes a table as Parquet. Every column may lack values; whole numbers are unsigned.
///
/// # Errors
/// A value is too large for the format.
pub fn parquet(table: &Table) -> std::result::Result<Vec<u8>, Problems> {
    write_parquet(table).map_err(|e| {
        Problems::plain(format!("the table cannot be written as Parquet: {e}"), "write it as csv")
    })
}

fn write_parquet(table: &Table) -> Result<Vec<u8>> {
    let field = |(name, kind): &(&str, Kind)| -> Result<Arc<Type>> {
        let (physical, converted) = match kind {
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Whole => (Physical::INT64, ConvertedType::UINT_64),
            Kind::Number => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_converted_type(converted)
            .with_repetition(Repetition::OPTIONAL);
        Ok(Arc::new(field.build()?))
    };
    let fields = table.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("faceoff").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (at, (_, kind)) in table.columns.iter().enumerate() {
        let values = table.rows.iter().map(|row| &row[at]);
        match kind {
            Kind::Text => column::<ByteArrayType>(&mut group, values, |field| match field {
                Field::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            })?,
            Kind::Whole => column::<Int64Type>(&mut group, values, |field| match field {
                // As the bits of an unsigned number.
                Field::Whole(number) => Some(*number as i64),
                _ => None,
            })?,
            Kind::Number => column::<DoubleType>(&mut group, values, |field| match field {
                Field::Number(number) => Some(*number),
                _ => None,
            })?,
            Kind::Flag => column::<BoolType>(&mut group, values, |field| match field {
                Field::Flag(flag) => Some(*flag),
                _ => None,
            })?,
        }
    }
    group.close()?;
    writer.into_inner()
}

/// Writes the next column; the level of a missing value is 0.
fn column<'t, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    fields: impl Iterator<Item = &'t Field>,
    value: impl Fn(&Field) -> Option<T::T>,
) -> Result<()> {
    let all: Vec<Option<T::T>> = fields.map(value).collect();
    let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = all.into_iter().flatten().collect();
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
        writer.close()?;
    }
    Ok(())
}
