/** One metric: what it counts, which labels it has, and for a histogram its upper bounds in seconds. */
export interface MetricDeclaration {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const WAITS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** What a command takes can be as long as its timeout, and waits on top. */
const WHOLE_COMMANDS = [...WAITS, 600, 1_800, 3_600];

/**
 * Every metric of Bailiff. Labels are from closed sets: tenants, ids, paths and argv are never labels, since a caller
 * could then grow the series without bound.
 */
export const METRIC_TABLE: Readonly<Record<string, MetricDeclaration>> = {
  bailiff_decisions_total: {
    kind: "counter",
    help: "Verdicts of each layer of the decision pipeline.",
    labels: ["layer", "verdict"],
  },
  bailiff_commands_finished_total: {
    kind: "counter",
    help: "Commands that reached their end, by how they ended and what is known of their effect.",
    labels: ["outcome", "effect"],
  },
  bailiff_commands_lost_total: {
    kind: "counter",
    help: "Commands ended as lost because their worker was gone.",
    labels: [],
  },
  bailiff_commands_requeued_total: {
    kind: "counter",
    help: "Queued commands without an entry in the queue that were queued again.",
    labels: [],
  },
  bailiff_claims_given_back_total: {
    kind: "counter",
    help: "Claims given back before argv was sent.",
    labels: [],
  },
  bailiff_claims_refused_total: {
    kind: "counter",
    help: "Claims refused: the command was no longer queued, its session had changed, or this worker had lost its lease.",
    labels: ["reason"],
  },
  bailiff_store_retries_total: {
    kind: "counter",
    help: "Ends or give-backs that Redis did not take at once; they are told again until it does.",
    labels: [],
  },
  bailiff_records_vanished_total: {
    kind: "counter",
    help: "Commands that ran while Redis lost their records: flushed, evicted or restored from older data.",
    labels: [],
  },
  bailiff_evidence_records_total: {
    kind: "counter",
    help: "Records appended to a chain of evidence.",
    labels: ["kind"],
  },
  bailiff_evidence_checkpoints_total: {
    kind: "counter",
    help: "Checkpoints signed: seals of a chain's end, and cuts where retention removed its beginning.",
    labels: ["kind"],
  },
  bailiff_evidence_conflicts_total: {
    kind: "counter",
    help: "Appends refused because another process had appended meanwhile.",
    labels: [],
  },
  bailiff_evidence_unreadable_total: {
    kind: "counter",
    help: "Events that this version can't read and that wait for one that can.",
    labels: [],
  },
  bailiff_evidence_mirror_failures_total: {
    kind: "counter",
    help: "Failed attempts to bring an evidence file up to the end of its chain.",
    labels: [],
  },
  bailiff_evidence_files_set_aside_total: {
    kind: "counter",
    help: "Evidence files that did not go on in Redis and were kept under another name.",
    labels: [],
  },
  bailiff_duty_failures_total: {
    kind: "counter",
    help: "Rounds of a periodic duty that failed: heartbeat (no lease renewed), reconcile, sweep, keep-warm.",
    labels: ["duty"],
  },
  bailiff_duty_rounds_total: {
    kind: "counter",
    help: "Rounds of a periodic duty, failed ones included.",
    labels: ["duty"],
  },
  bailiff_fenced_off_total: {
    kind: "counter",
    help: "Ends that were not written because another process had ended the command.",
    labels: [],
  },
  bailiff_workspace_excess_total: {
    kind: "counter",
    help: "Commands ended because their workspace outgrew a limit.",
    labels: ["limit"],
  },
  bailiff_results_unwritten_total: {
    kind: "counter",
    help: "Ends that could not be written at all; the reconciler ends such a command as lost.",
    labels: [],
  },
  bailiff_decisions_repeated_total: {
    kind: "counter",
    help: "Submits that were decided again because the session or what is left of a budget had changed meanwhile.",
    labels: ["reason"],
  },
  bailiff_approvals_decided_total: {
    kind: "counter",
    help: "Approvals that a person gave or denied.",
    labels: ["decision"],
  },
  bailiff_approvals_joined_total: {
    kind: "counter",
    help: "Submits that joined the same request, which was waiting for a person already.",
    labels: [],
  },
  bailiff_enqueue_failures_total: {
    kind: "counter",
    help: "Admitted commands that could not be put in the queue at once.",
    labels: [],
  },
  bailiff_queue_entries: {
    kind: "gauge",
    help: "Entries of a pool's queue in the whole deployment, read by the API at each scrape: every API process says the same, so take the maximum over them, not the sum.",
    labels: ["pool", "state"],
  },
  bailiff_queue_entries_given_back_total: {
    kind: "counter",
    help: "Queue entries put back untouched.",
    labels: [],
  },
  bailiff_queue_entries_stalled_total: {
    kind: "counter",
    help: "Queue entries handed out again because their worker lost its lock.",
    labels: [],
  },
  bailiff_queue_entries_failed_total: {
    kind: "counter",
    help: "Queue entries the queue gave up; the reconciler looks after their commands.",
    labels: [],
  },
  bailiff_command_run_seconds: {
    kind: "histogram",
    help: "Wall time of a command's process.",
    labels: ["outcome"],
    buckets: WHOLE_COMMANDS,
  },
  bailiff_command_duration_seconds: {
    kind: "histogram",
    help: "From a command's submit to its recorded end in a worker; waits for a person, the queue and a container included.",
    labels: ["outcome"],
    buckets: WHOLE_COMMANDS,
  },
  bailiff_queue_wait_seconds: {
    kind: "histogram",
    help: "From queued to dispatched.",
    labels: [],
    buckets: WAITS,
  },
  bailiff_container_acquire_seconds: {
    kind: "histogram",
    help: "From the need for a container to a ready one.",
    labels: [],
    buckets: WAITS,
  },
  bailiff_container_start_failures_total: {
    kind: "counter",
    help: "Containers that could not be made ready.",
    labels: ["code"],
  },
  bailiff_container_removal_failures_total: {
    kind: "counter",
    help: "Containers whose removal the engine did not confirm; the sweeper tries again.",
    labels: [],
  },
  bailiff_containers_swept_total: {
    kind: "counter",
    help: "Containers removed by the sweeper because nobody held them.",
    labels: [],
  },
  bailiff_container_prepare_seconds: {
    kind: "histogram",
    help: "From the create call to a container's readiness.",
    labels: [],
    buckets: WAITS,
  },
  bailiff_warm_containers: {
    kind: "gauge",
    help: "Containers made before their command: waiting for one, being started, being removed unused; and containers of any kind whose removal failed.",
    labels: ["state"],
  },
  bailiff_warm_leases_total: {
    kind: "counter",
    help: "Containers given to commands: one that waited, one that was being started already, or one made for it.",
    labels: ["result"],
  },
  bailiff_warm_skips_total: {
    kind: "counter",
    help: "Waiting containers that could not take a command any more: dead, silent, old, short of time, or no longer what is asked for.",
    labels: ["reason"],
  },
  bailiff_warm_refills_total: {
    kind: "counter",
    help: "Containers made ahead, by whether they became ready.",
    labels: ["result"],
  },
  bailiff_warm_evictions_total: {
    kind: "counter",
    help: "Waiting containers removed unused: dead, too old, idle, in the way of others, or at the worker's end.",
    labels: ["reason"],
  },
  bailiff_warm_offers_total: {
    kind: "counter",
    help: "Commands offered to the worker that last had a container waiting for them: it took them, declined, was not heard in time, or Redis failed.",
    labels: ["result"],
  },
  bailiff_warm_home_failures_total: {
    kind: "counter",
    help: "Homes of warm containers and answers to offers that Redis did not take; only hints are lost.",
    labels: [],
  },
  bailiff_engine_call_seconds: {
    kind: "histogram",
    help: "Calls to the engine, by operation and result.",
    labels: ["operation", "result"],
    buckets: WAITS,
  },
  bailiff_http_requests_total: {
    kind: "counter",
    help: "HTTP requests answered.",
    labels: ["method", "route", "status"],
  },
  bailiff_http_request_seconds: {
    kind: "histogram",
    help: "HTTP requests from their head to their answer; waits included.",
    labels: ["method", "route"],
    buckets: WAITS,
  },
  bailiff_event_streams_open: {
    kind: "gauge",
    help: "Event streams of commands that are open in this process.",
    labels: [],
  },
  bailiff_archive_transfers_open: {
    kind: "gauge",
    help: "Archives that this process receives or sends now.",
    labels: [],
  },
  bailiff_archive_transfers_total: {
    kind: "counter",
    help: "Archives received (in) and sent (out): done, refused, cut off by the client or a deadline, or failed.",
    labels: ["direction", "result"],
  },
  bailiff_archive_bytes_total: {
    kind: "counter",
    help: "Bytes of archives received and sent.",
    labels: ["direction"],
  },
  bailiff_webhook_attempts_total: {
    kind: "counter",
    help: "Attempts to deliver a webhook: delivered, retried later, failed for good, blocked, or superseded by another process.",
    labels: ["result"],
  },
  bailiff_webhook_attempt_seconds: {
    kind: "histogram",
    help: "Attempts to deliver a webhook, from the claim to the end of the answer.",
    labels: ["result"],
    buckets: WAITS,
  },
  bailiff_policy_problem: {
    kind: "gauge",
    help: "1 while the newest policy document is refused and an older one is in force.",
    labels: [],
  },
  bailiff_policy_reloads_total: {
    kind: "counter",
    help: "Changed policy documents, by whether they came into force.",
    labels: ["result"],
  },
  bailiff_build_info: {
    kind: "gauge",
    help: "Always 1; the labels say what runs.",
    labels: ["version", "role"],
  },
  bailiff_trace_spans_total: {
    kind: "counter",
    help: "Spans of traces: sent to the collector, not taken by it, or dropped because too many waited for it.",
    labels: ["result"],
  },
  bailiff_queue_errors_total: {
    kind: "counter",
    help: "Errors of the queue's connection or bookkeeping.",
    labels: [],
  },
  bailiff_queue_handler_failures_total: {
    kind: "counter",
    help: "Queue entries whose handling threw; their commands are looked after by the reconciler.",
    labels: [],
  },
};
