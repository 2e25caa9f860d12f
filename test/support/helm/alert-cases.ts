/** Series by their labels, in promtool's notation: one sample every half minute, from minute 0. */
export type Series = Readonly<Record<string, string>>;

/** What an alert has to be raised by, and what not. `$HERE` stands for the release's namespace as a matcher. */
export interface AlertCase {
  readonly alert: string;
  readonly series: Series;
  /** The first half minute at which it is raised: half a minute before, it is not. */
  readonly firesAtMinute: number;
  /** Its labels beside name and severity. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Just short of it, in this namespace: never raised. */
  readonly quiet: Series;
}

/** A counter that jumps once, at minute 10, and is looked at until minute 40. */
const ONCE = "0+0x19 1+0x60";
/** One that grows by one each half minute from minute 10 on. */
const GROWING = "0+0x19 1+1x60";
/** One that has its value from before. */
const OLD = "7+0x80";

const POD = '$HERE,pod="w-0"';
const perPod = { pod: "w-0" };

/** Alerts that any new count raises at once. */
const onAnyCount = ([alert, metric, firesAtMinute = 10]: readonly [string, string, number?]): AlertCase => ({
  alert,
  series: { [`${metric}{${POD}}`]: ONCE },
  firesAtMinute,
  quiet: { [`${metric}{${POD}}`]: OLD },
});

/** Half of a hundred answers a half minute are past a bound, or just fewer than the alert's share of them. */
const histogram = (metric: string, labels: string, bound: string, within: string): Series => ({
  [`${metric}_bucket{${labels},le="${bound}"}`]: within,
  [`${metric}_bucket{${labels},le="60"}`]: "0+1000x80",
  [`${metric}_bucket{${labels},le="+Inf"}`]: "0+1000x80",
});

/** A case for each alert of the chart. */
export const ALERT_CASES: readonly AlertCase[] = [
  onAnyCount(["BailiffCommandsLost", "bailiff_commands_lost_total"]),
  onAnyCount(["BailiffRecordsVanished", "bailiff_records_vanished_total"]),
  onAnyCount(["BailiffResultsUnwritten", "bailiff_results_unwritten_total"]),
  onAnyCount(["BailiffWorkersFencedOff", "bailiff_fenced_off_total"]),
  {
    // Eight renewals each half minute. The two minutes looked at hold more failures than successes after one of them.
    alert: "BailiffHeartbeatsFailing",
    series: {
      [`bailiff_duty_failures_total{${POD},duty="heartbeat"}`]: "0+0x19 0+8x60",
      [`bailiff_duty_rounds_total{${POD},duty="heartbeat"}`]: "0+8x80",
    },
    firesAtMinute: 12.5,
    labels: perPod,
    quiet: {
      // A failover: one renewal fails, the next does not.
      [`bailiff_duty_failures_total{${POD},duty="heartbeat"}`]: ONCE,
      [`bailiff_duty_rounds_total{${POD},duty="heartbeat"}`]: "0+8x80",
      [`bailiff_duty_failures_total{${POD},duty="sweep"}`]: "0+8x80",
    },
  },
  {
    alert: "BailiffDutiesFailing",
    series: { [`bailiff_duty_failures_total{${POD},duty="sweep"}`]: GROWING },
    firesAtMinute: 20,
    labels: { ...perPod, duty: "sweep" },
    quiet: {
      [`bailiff_duty_failures_total{${POD},duty="sweep"}`]: ONCE,
      [`bailiff_duty_failures_total{${POD},duty="heartbeat"}`]: GROWING,
    },
  },
  {
    alert: "BailiffApiFailing",
    series: {
      'bailiff_http_requests_total{$HERE,status="200"}': "0+94x80",
      'bailiff_http_requests_total{$HERE,status="503"}': "0+6x80",
    },
    firesAtMinute: 5.5,
    quiet: {
      'bailiff_http_requests_total{$HERE,status="200"}': "0+90x80",
      'bailiff_http_requests_total{$HERE,status="429"}': "0+6x80",
      'bailiff_http_requests_total{$HERE,status="503"}': "0+4x80",
    },
  },
  {
    alert: "BailiffWorkersGone",
    series: { 'up{$HERE,service="$WORKERS"}': "1+0x19 0+0x60" },
    firesAtMinute: 15,
    quiet: {
      'up{$HERE,service="$WORKERS",pod="w-0"}': "1+0x19 0+0x60",
      'up{$HERE,service="$WORKERS",pod="w-1"}': "1+0x80",
    },
  },
  {
    alert: "BailiffPoolUnserved",
    series: {
      // Two API processes say the same of the whole deployment.
      'bailiff_queue_entries{$HERE,pod="a-0",pool="small",state="prioritized"}': "0+0x19 1+0x60",
      'bailiff_queue_entries{$HERE,pod="a-1",pool="small",state="prioritized"}': "0+0x19 1+0x60",
      'bailiff_queue_entries{$HERE,pod="a-0",pool="small",state="active"}': "0+0x80",
      'bailiff_queue_entries{$HERE,pod="a-0",pool="default",state="active"}': "3+0x80",
    },
    firesAtMinute: 20,
    labels: { pool: "small" },
    quiet: {
      'bailiff_queue_entries{$HERE,pod="a-0",pool="small",state="prioritized"}': "9+0x80",
      'bailiff_queue_entries{$HERE,pod="a-0",pool="small",state="active"}': "1+0x80",
      'bailiff_queue_entries{$HERE,pod="a-0",pool="default",state="active"}': "0+0x80",
    },
  },
  {
    alert: "BailiffQueueWaitLong",
    series: histogram("bailiff_queue_wait_seconds", POD, "30", "0+940x80"),
    firesAtMinute: 10.5,
    quiet: histogram("bailiff_queue_wait_seconds", POD, "30", "0+960x80"),
  },
  {
    alert: "BailiffEnqueueFailing",
    series: { [`bailiff_enqueue_failures_total{${POD}}`]: GROWING },
    firesAtMinute: 15,
    quiet: { [`bailiff_enqueue_failures_total{${POD}}`]: ONCE },
  },
  {
    alert: "BailiffQueueEntriesFailed",
    series: {
      [`bailiff_queue_entries_failed_total{${POD}}`]: "0+0x80",
      [`bailiff_queue_handler_failures_total{${POD}}`]: ONCE,
    },
    firesAtMinute: 10,
    quiet: {
      [`bailiff_queue_entries_failed_total{${POD}}`]: OLD,
      [`bailiff_queue_handler_failures_total{${POD}}`]: OLD,
    },
  },
  {
    alert: "BailiffContainersNotStarting",
    series: { [`bailiff_container_start_failures_total{${POD},code="image_missing"}`]: "0+0x19 0+2x60" },
    firesAtMinute: 19,
    labels: { ...perPod, code: "image_missing" },
    quiet: { [`bailiff_container_start_failures_total{${POD},code="image_missing"}`]: "0+1x80" },
  },
  {
    alert: "BailiffContainersNotRemoved",
    series: { [`bailiff_container_removal_failures_total{${POD}}`]: "0+1x80" },
    firesAtMinute: 18,
    labels: perPod,
    quiet: { [`bailiff_container_removal_failures_total{${POD}}`]: "0+0x19 4+0x60" },
  },
  {
    alert: "BailiffEngineSlow",
    series: histogram("bailiff_engine_call_seconds", `${POD},operation="create"`, "10", "0+985x80"),
    firesAtMinute: 10.5,
    labels: perPod,
    quiet: histogram("bailiff_engine_call_seconds", `${POD},operation="create"`, "10", "0+995x80"),
  },
  {
    alert: "BailiffPolicyRefused",
    series: { [`bailiff_policy_problem{${POD}}`]: "0+0x19 1+0x60" },
    firesAtMinute: 12,
    labels: perPod,
    quiet: { [`bailiff_policy_problem{${POD}}`]: "0+0x19 1+0x2 0+0x60" },
  },
  onAnyCount(["BailiffEvidenceUnreadable", "bailiff_evidence_unreadable_total", 15]),
  {
    alert: "BailiffEvidenceMirrorFailing",
    series: { [`bailiff_evidence_mirror_failures_total{${POD}}`]: GROWING },
    firesAtMinute: 20,
    labels: perPod,
    quiet: { [`bailiff_evidence_mirror_failures_total{${POD}}`]: ONCE },
  },
  onAnyCount(["BailiffEvidenceSetAside", "bailiff_evidence_files_set_aside_total"]),
  {
    alert: "BailiffWebhooksFailing",
    series: { 'bailiff_webhook_attempts_total{$HERE,result="blocked"}': GROWING },
    firesAtMinute: 25,
    labels: { result: "blocked" },
    quiet: {
      'bailiff_webhook_attempts_total{$HERE,result="failed"}': ONCE,
      'bailiff_webhook_attempts_total{$HERE,result="delivered"}': GROWING,
    },
  },
];
