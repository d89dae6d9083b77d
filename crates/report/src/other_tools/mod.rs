//! Output and files in the formats of other tools, for scripts and spreadsheets that read these formats. The tools are
//! ab, httpbench, and the k6 kit retrieval-load-testing.
//!
//! Lines, widths and formulas are the same as in the other tool. Some metrics of the tools are replaced by a similar
//! metric, which is named in the documentation of the function.

pub mod ab_files;
pub mod formulas;
pub mod retrieval;

use crate::escape::escape;
use measure::stats::Tally;
use measure::values::sum;
use measure::{AttemptClass, Distribution, Flag, Model, Moments, Summary};
use std::fmt::Write;
use store::SavedRun;
use url::Url;

/// Returns the number of responses with a status other than 2xx.
pub(crate) fn non_2xx(tally: &Tally) -> u64 {
    sum(tally.statuses.sorted().iter().filter(|(status, _)| !(200..300).contains(status)).map(|(_, count)| *count))
}

/// Returns ab's "Keep-Alive requests", which are complete responses that allow reuse of their connection. Earlier
/// versions saved this count under [`Flag::KeptAlive`].
pub(crate) fn keep_alive(tally: &Tally) -> u64 {
    tally.flags.get(Flag::Persistent).max(tally.flags.get(Flag::KeptAlive))
}

/// Returns ab's "Total transferred", which is the number of bytes received in the window, including headers.
pub(crate) fn received(summary: &Summary) -> u64 {
    summary.measured.traffic.body.saturating_add(summary.measured.traffic.overhead)
}

/// Returns the number of slots of a closed run. For an open run, which has no slots, returns the mean number of
/// operations in flight.
pub(crate) fn concurrency(run: &SavedRun) -> f64 {
    match run.begin.model {
        Model::Closed { concurrency } => concurrency as f64,
        Model::Open { .. } => run.summary().mean_in_flight().unwrap_or(0.0),
    }
}

/// Formats a run like httpbench, with the number of successful operations, their bytes, and the time until the last
/// success.
#[must_use]
pub fn httpbench(run: &SavedRun) -> String {
    let summary = run.summary();
    let (requests, bytes) = (summary.all.ok, summary.all.ok_bytes);
    let seconds = summary.measured.seconds + summary.drain.seconds;
    format!(
        "Reqs: {requests}  Bytes: {:.2} GB  Time: {seconds:.2}s\n→ {:.2} GB/s  ({:.1} Gbps)\n",
        bytes as f64 / 1e9,
        formulas::gigabytes_per_second(bytes, seconds).unwrap_or(0.0),
        formulas::gigabits_per_second(bytes, seconds).unwrap_or(0.0),
    )
}

/// Formats a run like ab 2.4. The times include successful operations only. Processing is service time, Waiting is
/// TTFB, and Total is response time. Connect is zero for reused connections.
#[must_use]
pub fn ab(run: &SavedRun) -> String {
    let mut text = server_lines(run);
    text.push_str(&count_lines(run));
    text.push_str(&time_table(run.summary()));
    text.push_str(&percentile_lines(&run.summary().all.response));
    text
}

fn server_lines(run: &SavedRun) -> String {
    let server = run.end.as_ref().and_then(|end| end.server.as_ref());
    let target = run.begin.targets.first().and_then(|target| Url::parse(target).ok());
    let software = server.and_then(|server| server.software.as_deref()).map_or_else(String::new, escape);
    let host = target.as_ref().and_then(Url::host_str).unwrap_or_default();
    let port = target.as_ref().and_then(Url::port_or_known_default).unwrap_or(0);
    let path = target.as_ref().map_or_else(String::new, |url| match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    });
    let tls = server.and_then(|server| server.tls.as_ref()).map_or_else(String::new, |tls| {
        let (version, cipher) = (escape(&tls.version), escape(&tls.cipher));
        let name = escape(&tls.server_name);
        format!("SSL/TLS Protocol:       {version},{cipher}\nTLS Server Name:        {name}\n")
    });
    format!(
        "\n\nServer Software:        {software}\nServer Hostname:        {host}\nServer Port:            {port}\n{tls}\n\
         Document Path:          {path}\nDocument Length:        {} bytes\n\n",
        server.map_or(0, |server| server.document_bytes)
    )
}

fn count_lines(run: &SavedRun) -> String {
    let summary = run.summary();
    let tally = &summary.stats.measured;
    let (done, seconds, concurrency) = (tally.completed(), summary.measured.seconds, concurrency(run));
    let mut text = format!(
        "Concurrency Level:      {concurrency:.0}\nTime taken for tests:   {seconds:.3} seconds\nComplete requests:      {done}\n"
    );
    text.push_str(&failed_lines(tally));
    let non_2xx = non_2xx(tally);
    if non_2xx > 0 {
        let _ = writeln!(text, "Non-2xx responses:      {non_2xx}");
    }
    let (received, body) = (received(summary), summary.measured.traffic.body);
    let or_zero = |value: Option<f64>| value.unwrap_or(0.0);
    let _ = write!(
        text,
        "Keep-Alive requests:    {}\nTotal transferred:      {received} bytes\nHTML transferred:       {body} bytes\n\
         Requests per second:    {:.2} [#/sec] (mean)\nTime per request:       {:.3} [ms] (mean)\n\
         Time per request:       {:.3} [ms] (mean, across all concurrent requests)\n\
         Transfer rate:          {:.2} [Kbytes/sec] received\n",
        keep_alive(tally),
        or_zero(formulas::requests_per_second(done, seconds)),
        or_zero(formulas::time_per_request_ms(concurrency, seconds, done)),
        or_zero(formulas::time_across_all_ms(seconds, done)),
        or_zero(formulas::kib_per_second(received, seconds)),
    );
    text
}

/// Returns ab's counts of its four kinds of failure. For ab, a status other than 2xx is not a failure.
fn failed_lines(tally: &Tally) -> String {
    let (mut connect, mut receive, mut exceptions) = (0_u64, 0_u64, 0_u64);
    for (class, count) in tally.classes.nonzero() {
        match class {
            AttemptClass::Dns
            | AttemptClass::ConnectRefused
            | AttemptClass::ConnectTimeout
            | AttemptClass::ConnectOther
            | AttemptClass::TlsHandshake
            | AttemptClass::TlsCert => connect = connect.saturating_add(count),
            AttemptClass::TimeoutHead
            | AttemptClass::TimeoutIdle
            | AttemptClass::TimeoutTotal
            | AttemptClass::ClosedEarly
            | AttemptClass::Reset
            | AttemptClass::Incomplete
            | AttemptClass::Protocol => receive = receive.saturating_add(count),
            AttemptClass::Ok
            | AttemptClass::Http3xx
            | AttemptClass::Http4xx
            | AttemptClass::Http5xx
            | AttemptClass::Throttled
            | AttemptClass::Auth
            | AttemptClass::StaleReuse
            | AttemptClass::InflightAtEnd
            | AttemptClass::Interrupted => {}
            _ => exceptions = exceptions.saturating_add(count),
        }
    }
    let length = tally.flags.get(Flag::LengthDiffers);
    let failed = sum([connect, receive, length, exceptions]);
    let mut text = format!("Failed requests:        {failed}\n");
    if failed > 0 {
        let _ =
            writeln!(text, "   (Connect: {connect}, Receive: {receive}, Length: {length}, Exceptions: {exceptions})");
    }
    text
}

/// Rounds nanoseconds to milliseconds as ab does.
fn ms(nanos: f64) -> u64 {
    (nanos / 1e6).round() as u64
}

fn time_table(summary: &Summary) -> String {
    let all = &summary.all;
    let connect = summary.connect_of_all();
    let rows = [
        ("Connect:    ", "the initial connection time", &connect),
        ("Processing: ", "the processing time", &all.service),
        ("Waiting:    ", "the waiting time", &all.ttfb),
        ("Total:      ", "the total time", &all.response),
    ];
    if all.ok == 0 {
        return String::new();
    }
    let mut text = String::from("\nConnection Times (ms)\n              min  mean[+/-sd] median   max\n");
    for (label, _, values) in &rows {
        let (mean, sd) = mean_and_sd(values.moments());
        let exact = |value: Option<u64>| ms(value.unwrap_or(0) as f64);
        let (min, median, max) = (exact(values.min()), exact(values.quantile(0.5)), exact(values.max()));
        let _ = writeln!(text, "{label}{min:>5} {:>4} {:>5.1} {median:>6} {max:>7}", ms(mean), sd / 1e6);
    }
    for (_, what, values) in &rows {
        text.push_str(&sanity(what, values));
    }
    text
}

fn mean_and_sd(moments: &Moments) -> (f64, f64) {
    (moments.mean().unwrap_or(0.0), moments.standard_deviation().unwrap_or(0.0))
}

/// Returns ab's warning about a large difference between mean and median, if there is one.
fn sanity(what: &str, values: &Distribution) -> String {
    let (mean, sd) = mean_and_sd(values.moments());
    let apart = (mean - values.quantile(0.5).unwrap_or(0) as f64).abs();
    if apart > 2.0 * sd {
        format!(
            "ERROR: The median and mean for {what} are more than twice the standard\n       \
             deviation apart. These results are NOT reliable.\n"
        )
    } else if apart > sd {
        format!(
            "WARNING: The median and mean for {what} are not within a normal deviation\n        \
             These results are probably not that reliable.\n"
        )
    } else {
        String::new()
    }
}

fn percentile_lines(response: &Distribution) -> String {
    // For a single request, ab prints no table.
    let count = response.count();
    if count < 2 {
        return String::new();
    }
    let mut text = String::from("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in [50_u64, 66, 75, 80, 90, 95, 98, 99] {
        // ab uses sorted[n·p/100], counted from 0. Use a quantile half a rank lower, so that rounding errors cannot
        // select the next rank.
        let rank = u128::from(count) * u128::from(percent) / 100 + 1;
        let value = response.quantile((rank as f64 - 0.5) / count as f64).unwrap_or(0);
        let _ = writeln!(text, "  {percent}%  {:>5}", ms(value as f64));
    }
    let _ = writeln!(text, " 100%  {:>5} (longest request)", ms(response.max().unwrap_or(0) as f64));
    text
}
