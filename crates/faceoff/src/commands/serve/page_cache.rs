//! Reads records, renders their pages, and keeps what is expensive to compute.
//!
//! One thread does all of this, so that serving takes at most one CPU. While a run measures on this
//! machine, the thread gets only CPU time that nothing else wants. Start at [`PageCache::answer`].

use record::Record;
use record::history::{Chapter, History};
use record::judgement::Verdict;
use record::record_index::{self, IndexedRecord, RecordSummary};
use record::run_status::RunStatus;
use report::site::{self, Brief, BriefResult, Choice, Live, OverTime, refusal};
use rustix::time::{ClockId, clock_gettime};
use spec::problem::Problems;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Maximum size of a record, in bytes. A larger one is not read.
const LONGEST: u64 = 256 << 20;
/// Maximum number of watched runs that are kept.
const MOST_WATCHED: usize = 4;
/// Time between two judgements of a running run, as a multiple of what one takes.
const REST: u32 = 100;
/// Time limit for judging records that have no judgement, per page.
const JUDGING_FOR_A_PAGE: Duration = Duration::from_secs(2);

/// A request for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// The list of all records that match a search.
    List(String),
    /// The page of a record.
    Record(String),
    /// A running run, and whether its page must not refresh itself.
    Live(String, bool),
    /// Two records side by side.
    Compare(String, String),
    /// The metrics of an experiment over time: the experiment, whether in its quick form, and the
    /// metric to show.
    Experiment(String, bool, String),
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A page of the site.
    Page(String),
    /// The report of a record, which contains a script.
    Record(String),
    /// The requested page does not exist.
    Missing(String),
    /// The requested page exists and cannot be shown.
    Failed(String),
}

/// Size and time of a record's file when it was read.
type Stamp = (u64, SystemTime);

/// A run that a browser watches.
struct Watched {
    stamp: Stamp,
    record: Record,
    judged: Vec<(u32, Vec<Verdict>)>,
    rest_until: Instant,
    since: Instant,
    cpu_before: Duration,
}

/// The records of a folder, and what was computed from them.
pub struct PageCache {
    root: PathBuf,
    briefs: HashMap<String, (Stamp, Result<Brief, String>)>,
    /// The last report that was rendered.
    page: Option<(String, Stamp, String)>,
    /// The last histories, and the records that they were computed from.
    histories: (Vec<(String, Stamp)>, Vec<History>),
    watched: HashMap<String, Watched>,
}

fn stamp(indexed: &IndexedRecord) -> Stamp {
    (indexed.bytes, indexed.written)
}

impl PageCache {
    /// Opens a folder.
    pub fn open(root: PathBuf) -> PageCache {
        PageCache {
            root,
            briefs: HashMap::new(),
            page: None,
            histories: Default::default(),
            watched: HashMap::new(),
        }
    }

    /// Answers a request. A record that causes a panic gets an error page and harms nothing else.
    pub fn answer(&mut self, request: &PageRequest) -> Reply {
        guarded(|| self.answer_or_panic(request)).unwrap_or_else(Reply::Failed)
    }

    fn answer_or_panic(&mut self, request: &PageRequest) -> Reply {
        let records = record_index::records(&self.root);
        self.refresh_briefs(&records);
        let is_measuring = records.iter().any(|indexed| self.is_live(indexed));
        yield_to_others(is_measuring);
        match request {
            PageRequest::List(search) => self.list(&records, search, is_measuring),
            PageRequest::Record(id) => found(&records, id)
                .and_then(|indexed| self.report_page(indexed))
                .unwrap_or_else(|reply| reply),
            PageRequest::Live(id, is_still) => found(&records, id)
                .and_then(|indexed| self.live(indexed, *is_still))
                .unwrap_or_else(|reply| reply),
            PageRequest::Compare(a, b) => {
                self.compare(&records, a, b).unwrap_or_else(|reply| reply)
            }
            PageRequest::Experiment(name, is_quick, chosen) => {
                self.experiment(&records, name, *is_quick, chosen)
            }
        }
    }

    /// Reads begin and end of new and changed records, and forgets removed ones.
    fn refresh_briefs(&mut self, records: &[IndexedRecord]) {
        self.briefs.retain(|id, _| records.iter().any(|indexed| indexed.id == *id));
        for indexed in records {
            if self.briefs.get(&indexed.id).is_some_and(|(at, _)| *at == stamp(indexed)) {
                continue;
            }
            let brief = indexed.glance().map_err(|e| plain(&e)).and_then(
                |RecordSummary { record, judgement }| {
                    let result = judgement
                        .map(|judgement| {
                            guarded(|| BriefResult::from_judgement(&record, judgement))
                        })
                        .transpose()?;
                    Ok(Brief { id: indexed.id.clone(), record, result })
                },
            );
            self.briefs.insert(indexed.id.clone(), (stamp(indexed), brief));
        }
    }

    fn brief(&self, id: &str) -> Option<&Brief> {
        self.briefs.get(id)?.1.as_ref().ok()
    }

    /// Whether a run may be writing the record: it has not ended, and was written to within the
    /// time that a trial may take.
    fn is_live(&self, indexed: &IndexedRecord) -> bool {
        let Some(brief) = self.brief(&indexed.id) else { return false };
        brief.record.ended().is_none() && silence_of(indexed) <= longest_silence(&brief.record)
    }

    /// Judges records for as long as a reader waits.
    fn judge_some<'s>(&mut self, some: impl Iterator<Item = &'s IndexedRecord>) {
        let begun = Instant::now();
        some.take_while(|_| begun.elapsed() < JUDGING_FOR_A_PAGE)
            .for_each(|indexed| self.judge(indexed));
    }

    fn list(&mut self, records: &[IndexedRecord], search: &str, is_measuring: bool) -> Reply {
        self.judge_some(records.iter().filter(|_| !is_measuring));
        let choices: Vec<Choice<'_>> = records
            .iter()
            .filter_map(|indexed| {
                let brief = self.briefs.get(&indexed.id)?.1.as_ref().map_err(String::as_str);
                Some(Choice {
                    id: &indexed.id,
                    bytes: indexed.bytes,
                    brief,
                    is_live: self.is_live(indexed),
                })
            })
            .collect();
        Reply::Page(site::list(&self.root.display().to_string(), &choices, search).html())
    }

    /// Judges a record that has no judgement yet.
    fn judge(&mut self, indexed: &IndexedRecord) {
        let Some((_, kept)) = self.briefs.get_mut(&indexed.id) else { return };
        let Some(brief) = kept.as_mut().ok().filter(|brief| brief.result.is_none()) else { return };
        let result = read(indexed).and_then(|record| {
            guarded(|| BriefResult::from_judgement(&record, judge::judge(&record)))
                .map_err(Reply::Failed)
        });
        match result {
            Ok(result) => brief.result = Some(result),
            Err(Reply::Failed(why)) => *kept = Err(why),
            Err(_) => {}
        }
    }

    fn experiment(
        &mut self,
        records: &[IndexedRecord],
        name: &str,
        is_quick: bool,
        chosen: &str,
    ) -> Reply {
        let is_of = |brief: &Brief| {
            brief.record.header.experiment.name == name && brief.record.header.quick == is_quick
        };
        let of_it: Vec<&IndexedRecord> =
            records.iter().filter(|s| self.brief(&s.id).is_some_and(is_of)).collect();
        self.judge_some(of_it.into_iter());
        let all = || self.briefs.values().filter_map(|(_, brief)| brief.as_ref().ok());
        let of_name: Vec<&Brief> =
            all().filter(|brief| brief.record.header.experiment.name == name).collect();
        let of_form: Vec<&Brief> =
            of_name.iter().copied().filter(|brief| brief.record.header.quick == is_quick).collect();
        let Some(newest) =
            of_form.iter().max_by_key(|brief| &brief.record.header.recorded_at).or(of_name.first())
        else {
            return Reply::Missing(format!(
                "There is no record of an experiment `{name}` in this folder."
            ));
        };
        let chapters: Vec<Chapter<'_>> = of_form
            .iter()
            .filter_map(|brief| {
                let (header, result) = (
                    &brief.record.header,
                    brief.result.as_ref().filter(|result| result.answer.outcome != "unsound")?,
                );
                Some(Chapter {
                    record: &brief.id,
                    recorded_at: &header.recorded_at,
                    machine: &header.machine,
                    verdicts: &result.verdicts,
                })
            })
            .collect();
        let mut made_of: Vec<(String, Stamp)> =
            chapters.iter().map(|c| (c.record.to_owned(), self.briefs[c.record].0)).collect();
        made_of.sort_unstable();
        if self.histories.0 != made_of {
            self.histories = (made_of, judge::history::histories(&chapters));
        }
        let page = site::over_time(&OverTime {
            experiment: name,
            question: &newest.record.header.experiment.question,
            is_quick,
            has_other_form: of_name.len() > of_form.len(),
            histories: &self.histories.1,
            chosen,
            left_out: of_form.len() - chapters.len(),
        });
        Reply::Page(page.html())
    }

    fn report_page(&mut self, indexed: &IndexedRecord) -> Result<Reply, Reply> {
        let now = stamp(indexed);
        if let Some((_, _, page)) =
            self.page.as_ref().filter(|(id, at, _)| *id == indexed.id && *at == now)
        {
            return Ok(Reply::Record(page.clone()));
        }
        let record = read(indexed)?;
        let page = report::html(&record, &judge::judge(&record));
        self.page = Some((indexed.id.clone(), now, page.clone()));
        Ok(Reply::Record(page))
    }

    fn compare(&mut self, records: &[IndexedRecord], a: &str, b: &str) -> Result<Reply, Reply> {
        for indexed in [found(records, a)?, found(records, b)?] {
            self.judge(indexed);
        }
        let brief = |id: &str| match self.briefs.get(id) {
            Some((_, Ok(brief))) => Ok(brief),
            Some((_, Err(why))) => Err(Reply::Failed(why.clone())),
            None => Err(missing(id)),
        };
        Ok(Reply::Page(site::compare(brief(a)?, brief(b)?).html()))
    }

    fn live(&mut self, indexed: &IndexedRecord, is_still: bool) -> Result<Reply, Reply> {
        if !self.watched.contains_key(&indexed.id) && self.watched.len() >= MOST_WATCHED {
            let oldest = self
                .watched
                .iter()
                .min_by_key(|(_, watched)| watched.since)
                .map(|(id, _)| id.clone());
            oldest.and_then(|id| self.watched.remove(&id));
        }
        let watched = match self.watched.entry(indexed.id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (since, cpu_before) = (Instant::now(), cpu_of(ClockId::ProcessCPUTime));
                let record = read(indexed)?;
                new.insert(Watched {
                    stamp: stamp(indexed),
                    record,
                    judged: Vec::new(),
                    rest_until: since,
                    since,
                    cpu_before,
                })
            }
        };
        if watched.stamp != stamp(indexed) {
            let record = read(indexed)?;
            if record.header.recorded_at != watched.record.header.recorded_at {
                watched.judged.clear();
            }
            (watched.record, watched.stamp) = (record, stamp(indexed));
        }
        watched.judge_if_due();
        let silent = silence_of(indexed);
        let status = RunStatus::of_record(&watched.record).filter(is_there);
        let page = site::live(&Live {
            id: &indexed.id,
            record: &watched.record,
            judged: &watched.judged,
            silent,
            status: status.as_ref(),
            is_given_up: status.is_none() && silent > longest_silence(&watched.record),
            cpu: cpu_of(ClockId::ProcessCPUTime).saturating_sub(watched.cpu_before),
            watched: watched.since.elapsed(),
            is_still,
        });
        Ok(Reply::Page(page.html()))
    }
}

impl Watched {
    /// Judges the record if more blocks are complete, and then pauses for a long time.
    fn judge_if_due(&mut self) {
        let complete = self.record.complete_blocks();
        let has_ended = self.record.ended().is_some();
        if complete == 0
            || self.judged.last().is_some_and(|(blocks, _)| *blocks == complete)
            || (!has_ended && Instant::now() < self.rest_until)
        {
            return;
        }
        let before = cpu_of(ClockId::ThreadCPUTime);
        self.judged.push((complete, judge::judge(&self.record).verdicts));
        self.rest_until =
            Instant::now() + cpu_of(ClockId::ThreadCPUTime).saturating_sub(before) * REST;
    }
}

/// Runs `make`, and turns a panic into an error: an unexpected record must not end the server.
fn guarded<T>(make: impl FnOnce() -> T) -> Result<T, String> {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
    made.map_err(|_| "This record cannot be shown: its content is unexpected.".to_owned())
}

fn found<'s>(records: &'s [IndexedRecord], id: &str) -> Result<&'s IndexedRecord, Reply> {
    // The id is only compared with ids that were found. No path is built from it.
    records.iter().find(|indexed| indexed.id == id).ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Reply {
    Reply::Missing(format!("There is no record `{id}` in this folder."))
}

fn read(indexed: &IndexedRecord) -> Result<Record, Reply> {
    if indexed.bytes > LONGEST {
        return Err(Reply::Failed(format!(
            "{} is too large to be shown here: `faceoff report` writes its report.",
            indexed.id
        )));
    }
    Record::read(&indexed.folder).map_err(|e| Reply::Failed(plain(&e)))
}

/// Returns the problems as one sentence.
fn plain(problems: &Problems) -> String {
    problems.list().iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

fn silence_of(indexed: &IndexedRecord) -> Duration {
    SystemTime::now().duration_since(indexed.written).unwrap_or_default()
}

/// Whether the process that wrote the status still runs. A killed process leaves an outdated one.
fn is_there(status: &RunStatus) -> bool {
    runner::running_since_ticks(status.process.id) == Some(status.process.began_ticks)
}

/// Returns how long a record may be silent during a trial.
///
/// That is twice the expected duration with a slow start, and two minutes.
fn longest_silence(record: &Record) -> Duration {
    let experiment = &record.header.experiment;
    let at_most = |cell: &_| experiment.measured_at_most(cell);
    experiment
        .trial_estimate(Duration::from_secs(60), experiment.design.warmup, at_most)
        .saturating_mul(2)
        .saturating_add(Duration::from_secs(120))
}

fn cpu_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Gives the calling thread the lowest priority while something is measured on this machine.
fn yield_to_others(is_measuring: bool) {
    let class = if is_measuring { libc::SCHED_IDLE } else { libc::SCHED_OTHER };
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: `priority` outlives the call, which reads it and nothing else. If the call is
    // refused, the thread keeps its priority.
    unsafe { libc::sched_setscheduler(0, class, &priority) };
}

/// Returns the HTML of a reply with its status code.
pub fn as_page(reply: Reply) -> (u16, String) {
    match reply {
        Reply::Page(html) | Reply::Record(html) => (200, html),
        Reply::Missing(why) => (404, refusal("Not found", &why)),
        Reply::Failed(why) => (500, refusal("Cannot be shown", &why)),
    }
}
