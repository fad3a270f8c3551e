// Runs the background work: deliveries and notifications, chores of the store, and the sealing and shipping of the audit
// log. Each kind of work depends only on the store, logs what it did, and is finished before the service stops.

import { lapses } from '../guard/approvals/approvals.ts';
import { notifications } from '../guard/approvals/notify/notify.ts';
import type { PrintApproval } from '../guard/approvals/notify/send.ts';
import { messageChanges } from '../guard/approvals/notify/slack-bot/posted.ts';
import { forgetKeys } from '../guard/check/idempotency.ts';
import { forgetCounts } from '../guard/check/limit-admin.ts';
import { forgetRuns } from '../guard/check/run-admin.ts';
import { Chores, everyMinute } from '../guard/chores.ts';
import { retire } from '../guard/log/retention.ts';
import { rolledUpTo, rollUp } from '../guard/log/rollups.ts';
import { SealedLog } from '../guard/log/sealed-log.ts';
import { Sealer, type SealerOptions } from '../guard/log/sealer.ts';
import { givenUpPlaces } from '../guard/log/signed-checkpoints.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import { sendCheckpoint } from '../guard/outgoing/checkpoint-target.ts';
import { deliveries } from '../guard/outgoing/deliver.ts';
import { Shipper } from '../guard/outgoing/shipping/shipper.ts';
import { targetFor } from '../guard/outgoing/shipping/targets.ts';
import { Worker } from '../guard/outgoing/worker.ts';
import { forgetTokens } from '../guard/people/oauth-tokens.ts';
import { forgetRequests } from '../guard/rate-limit.ts';
import { answers, type Holder } from '../guard/tasks/answered.ts';
import { forgetOldTasks } from '../guard/tasks/forget.ts';
import { giveUpAbandoned } from '../guard/tasks/server-tasks.ts';
import { strays } from '../guard/tasks/strays.ts';
import { lookAtSome } from '../guard/tool-servers/looks.ts';
import type { Services } from '../http/serving/services.ts';
import { resumeCall } from '../mcp/tasks/resumed-call.ts';
import { ShippingMetrics } from '../metrics/shipping.ts';
import type { Config } from '../settings/config.ts';
import type { LeasedNotification } from '../store/notifications.ts';
import { appendCheckpoint } from './data-dir.ts';

export async function startBackground(
  config: Config,
  services: Services,
  url: string,
  print: PrintApproval,
): Promise<{ stop: () => Promise<void> }> {
  const worker = createWorker(config, services, url, print);
  const chores = createChores(config, services);
  const sealer = createSealer(config, services);
  const shippers = await createShippers(config, services);
  worker.start();
  chores.start();
  if (config.sealing) sealer.start();
  for (const shipper of shippers) shipper.start();
  const stop = async () => {
    const shipped = Promise.all(shippers.map(shipper => shipper.stop()));
    await worker.stop();
    await chores.stop();
    await sealer.stop();
    await shipped;
  };
  return { stop };
}

function createWorker(config: Config, services: Services, url: string, print: PrintApproval): Worker {
  const { deps, targetRules: rules, slack, metrics, tracer, log } = services;
  const notified = ({ channel, channelName }: LeasedNotification, error: string | null) => {
    metrics.notified(channel, error === null);
    if (error !== null) log.warn({ channel, channelName, error }, 'a notification could not be sent');
  };
  const changed = (error: string | null) => {
    if (error !== null) log.warn({ channel: 'slack', error }, 'a message could not be changed');
  };
  const jobs = [
    lapses(deps),
    () => deps.details.tend(),
    async () => deps.results.tend(),
    async () => services.mcp.tasks.calls.tend(),
    answers(deps, taskHolder(services)),
    strays(deps),
    notifications(deps, { ...config, publicUrl: url, rules, slack, print }, notified),
    ...(slack === null ? [] : [messageChanges(deps, { slack, publicUrl: url }, changed)]),
    deliveries(deps, rules, attempt => metrics.delivered(attempt.error === null), tracer),
  ];
  return new Worker(deps, jobs, error => log.error({ err: error }, 'background work failed'));
}

/** Lets the calls of tasks begin when they are approved. */
function taskHolder({ mcp }: Services): Holder {
  const { calls, runs } = mcp.tasks;
  return {
    held: () => calls.ids,
    holds: id => calls.has(id),
    isIdle: () => calls.isEmpty && runs.isIdle,
    resume: id => runs.begin(id, cancel => resumeCall(mcp, id, cancel)),
    letGo: id => calls.letGo(id),
    lose: id => calls.lose(id),
    cancel: id => runs.cancel(id),
  };
}

function createChores({ retention, sealing, shipping }: Config, services: Services): Chores {
  const { deps, checkpointKey, metrics, log } = services;
  const sealedBy = sealing ? checkpointKey : null;
  const shippedTo = Object.keys(shipping);
  const removed = (counts: Record<string, number>) => {
    metrics.log.removed(counts);
    log.info({ removed: counts }, 'removed what retention no longer keeps');
  };
  return new Chores(
    deps,
    [
      rollUp,
      everyMinute(lookAtSome),
      forgetRequests(),
      forgetTokens(),
      forgetCounts(),
      forgetKeys(),
      forgetRuns(),
      giveUpAbandoned(),
      forgetOldTasks(),
      retire({ retention, sealedBy, shippedTo, removed }),
    ],
    {
      round: async () => metrics.log.rolledUp(await rolledUpTo(deps)),
      failed: error => log.error({ err: error }, 'a background chore failed'),
    },
  );
}

function createSealer(config: Config, { deps, checkpointKey, targetRules, metrics, log }: Services): Sealer {
  const options = {
    checkpointInterval: config.checkpointInterval,
    keep: (note: string) => appendCheckpoint(config.dataDir, note),
    send: checkpointSender(config, targetRules, deps.now),
  };
  return new Sealer(deps, new SealedLog(deps, checkpointKey, config.retention), options, {
    lag: ({ size, behindSince }) => metrics.log.sealed(size, behindSince),
    checkpointed: ({ size }) => {
      metrics.log.checkpointed();
      log.debug({ size }, 'checkpoint signed');
    },
    sent: ({ size }, error) => {
      metrics.log.checkpointSent(error === null);
      if (error !== null) log.warn({ size, err: error }, 'a checkpoint could not be sent');
    },
    failed: error => {
      metrics.log.sealingFailed();
      log.error({ err: error }, 'sealing the audit log failed');
    },
  });
}

/** A target that stays away is logged at its first failure, and then about every ten minutes. */
const LOGGED_FAILURES = 10;

function createShippers(
  { shipping }: Config,
  { deps, checkpointKey, metrics, log }: Services,
): Promise<Shipper[]> {
  const counted = new ShippingMetrics(Object.keys(shipping));
  metrics.include(() => counted.families());
  // A checkpoint that this service did not sign gives up nothing.
  const givenUp = () => givenUpPlaces(deps.db, checkpointKey).catch(() => 0);
  const shippers = Object.entries(shipping).map(async ([name, settings]) => {
    const options = { name, target: await targetFor(settings, deps.now), givenUp };
    return new Shipper(deps, options, {
      lag: ({ since }) => counted.lag(name, since),
      sent: ({ entries, failures, error }) => {
        counted.sent(name, error === null, entries);
        if (error === null && failures > 0) log.info({ target: name }, 'the audit log is shipped again');
        // A batch that was refused for its content is no failure: half of it follows at once.
        if (error !== null && (failures === 1 || (failures > 0 && failures % LOGGED_FAILURES === 0)))
          log.warn({ target: name, failures, error }, 'the audit log could not be shipped');
      },
      missing: places =>
        log.error(
          { target: name, places: places.length, first: places[0] },
          'entries are missing from the sealed log, and were not shipped: run toolgate audit verify',
        ),
      failed: error => log.error({ target: name, err: error }, 'shipping the audit log failed'),
    });
  });
  return Promise.all(shippers);
}

function checkpointSender(config: Config, rules: TargetRules, now: () => number): SealerOptions['send'] {
  const { checkpointUrl: url, checkpointMethod: method, checkpointAuthorization: authorization } = config;
  if (url === null) return null;
  const key = config.checkpointS3Key;
  const s3 = key && { ...key, region: config.checkpointS3Region };
  const target = { url, method, authorization, s3, rules };
  return checkpoint => sendCheckpoint(target, checkpoint, now());
}
