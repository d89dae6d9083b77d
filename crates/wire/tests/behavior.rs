//! Tests of encodings and parsers against foreign implementations and properties.
//!
//! All of them are one program, because each program takes several seconds to build.

mod gateway;
mod properties;
mod requests;
mod responses;
mod sigv4;
