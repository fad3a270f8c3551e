// Metrics that stand in the store, such as what waits for people or for other servers. They are read when somebody asks
// for the metrics, but at most every few seconds, and nobody waits long for them: a store that hangs leaves the values
// of the last reading, with their age beside them.

import type { MetricFamily } from '../core/wire/metric.ts';
import { type LimitUse, listLimits } from '../guard/check/limit-admin.ts';
import type { Deps } from '../guard/deps.ts';
import {
  type Backlog,
  openApprovals,
  undelivered,
  unsentNotifications,
  unsettledCalls,
} from '../store/backlogs.ts';
import type { Counted } from '../store/limits.ts';
import { by, gauge, secondsSince } from './family.ts';

const FRESH_MS = 5000;
/** Less than the second for which workers wait for each other. */
const PATIENCE_MS = 300;
/**
 * How many subjects of limits one reading looks at; the next reading goes on from there. A subject has up to 13 rows, and
 * on SQLite nothing else happens while they are read.
 */
const LIMITS_AT_ONCE = 500;
/** A limit is near its end when this part of it is used. */
const NEAR = 0.8;
const BEFORE_ALL: Counted = { limitId: '', subject: '' };

interface Reading {
  at: number;
  approvals: Backlog;
  deliveries: Backlog;
  notifications: Backlog;
  unknown: Backlog;
  storeBytes: number;
  limits: LimitCounts | null;
}

interface LimitCounts {
  near: number;
  reached: number;
}

export class StoreReadings {
  readonly #deps: Deps;
  readonly #patienceMs: number;
  #reading: Reading | null = null;
  #underWay: Promise<void> | null = null;
  #limits: LimitCounts | null = null;
  #soFar: LimitCounts = { near: 0, reached: 0 };
  #after: Counted = BEFORE_ALL;

  constructor(deps: Deps, patienceMs = PATIENCE_MS) {
    this.#deps = deps;
    this.#patienceMs = patienceMs;
  }

  async families(): Promise<MetricFamily[]> {
    if (this.#reading === null || this.#deps.now() - this.#reading.at >= FRESH_MS) {
      // A reading that fails leaves the one before; the age says so, and the log has the failures of the store.
      this.#underWay ??= this.#read()
        .catch(() => {})
        .finally(() => {
          this.#underWay = null;
        });
      await Promise.race([this.#underWay, Bun.sleep(this.#patienceMs)]);
    }
    return this.#reading === null ? [] : familiesOf(this.#reading, this.#deps.now());
  }

  async #read(): Promise<void> {
    const { db } = this.#deps;
    const at = this.#deps.now();
    const approvals = await openApprovals(db);
    const deliveries = await undelivered(db);
    const notifications = await unsentNotifications(db, at);
    const unknown = await unsettledCalls(db);
    const storeBytes = await db.size();
    await this.#readLimits();
    const limits = this.#limits;
    this.#reading = { at, approvals, deliveries, notifications, unknown, storeBytes, limits };
  }

  /** Reads the next part of all counts; once there are no more, the numbers are complete. */
  async #readLimits(): Promise<void> {
    const { limits, last } = await listLimits(this.#deps, {}, LIMITS_AT_ONCE, this.#after);
    this.#soFar.near += limits.filter(isNear).length;
    this.#soFar.reached += limits.filter(isReached).length;
    this.#after = last ?? BEFORE_ALL;
    if (last !== null) return;
    this.#limits = this.#soFar;
    this.#soFar = { near: 0, reached: 0 };
  }
}

const isReached = ({ used, atMost }: LimitUse): boolean => used >= atMost;
const isNear = (use: LimitUse): boolean => use.used >= NEAR * use.atMost && !isReached(use);

function familiesOf(reading: Reading, now: number): MetricFamily[] {
  const { at, approvals, deliveries, notifications, unknown, storeBytes, limits } = reading;
  const waiting = (name: string, help: string, { count, since }: Backlog) => [
    gauge(`${name}_waiting`, `${help}.`, count),
    gauge(`${name}_oldest_seconds`, `${help}: the age of the oldest.`, secondsSince(since, now)),
  ];
  return [
    gauge(
      'toolgate_readings_age_seconds',
      'Age of what is read from the store; more than a minute: it does not answer.',
      secondsSince(at, now),
    ),
    ...waiting('toolgate_approvals', 'Approvals that wait for an answer', approvals),
    ...waiting('toolgate_deliveries', 'Events that wait to be received by a webhook', deliveries),
    ...waiting('toolgate_notifications', 'Approval links that are due and not sent', notifications),
    ...waiting(
      'toolgate_unknown_calls',
      'Calls of which it is not known whether they ran, and which nobody has settled',
      unknown,
    ),
    gauge(
      'toolgate_limits',
      'What limits count for single subjects: near, if 80 % are used, or reached. Never the amounts.',
      limits === null ? [] : by('use', Object.entries(limits)),
    ),
    gauge('toolgate_store_bytes', 'Size of the store.', storeBytes),
  ];
}
