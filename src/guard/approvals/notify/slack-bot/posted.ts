// Makes the message that asks a question in Slack, and changes it when people have voted and when the question has ended,
// however it ended. That is work of the worker: it survives restarts, and one replica does it.

import { beginningOf } from '../../../../core/approvals/details.ts';
import { waitAfter } from '../../../../core/approvals/event.ts';
import { runLines } from '../../../../core/channels/message.ts';
import { findChannel } from '../../../../core/policy/channel.ts';
import { type ApprovalRecord, findApproval } from '../../../../store/approvals.ts';
import { findKey } from '../../../../store/keys.ts';
import {
  anyChangeDue,
  type LeasedMessage,
  leaseMessages,
  recordChanged,
} from '../../../../store/posted-messages.ts';
import { listVotes } from '../../../../store/votes.ts';
import type { Deps } from '../../../deps.ts';
import type { Job } from '../../../outgoing/worker.ts';
import { callFacts, readBefore } from '../../call-facts.ts';
import { type SlackApi, SlackError, type SlackMessage } from './api.ts';
import { type About, endedMessage, questionMessage, type Shown } from './message.ts';

/** The question as it is posted to a channel, with details only if the channel carries them. */
export async function questionFor(
  deps: Deps,
  publicUrl: string,
  approval: ApprovalRecord,
  details: boolean,
): Promise<SlackMessage> {
  const [about, shown] = await Promise.all([
    aboutOf(deps, publicUrl, approval),
    shownIn(deps, approval, details),
  ]);
  return questionMessage(about, shown, runLines(readBefore(approval, details)));
}

interface SlackBot {
  slack: SlackApi;
  publicUrl: string;
}

/** The job that changes the messages that have to be changed. `onAttempt` is given what went wrong, or null. */
export function messageChanges(deps: Deps, bot: SlackBot, onAttempt: (error: string | null) => void): Job {
  const { db, now } = deps;
  return async start => {
    if (!(await anyChangeDue(db, now()))) return;
    await start(
      'slack messages',
      (tx, room, until) => leaseMessages(tx, now(), until, room),
      async leased => onAttempt(await change(deps, bot, leased)),
    );
  };
}

/** Returns what went wrong, or null. */
async function change(deps: Deps, bot: SlackBot, leased: LeasedMessage): Promise<string | null> {
  try {
    await bringUpToDate(deps, bot, leased);
    await recordChanged(deps.db, leased, { againAt: null, error: null });
    return null;
  } catch (error) {
    if (!(error instanceof SlackError)) throw error;
    const wait = HOPELESS.has(error.code) ? null : waitAfter(leased.attempts + 1, Math.random());
    const againAt = wait === null ? null : deps.now() + Math.max(wait, error.retryAfter ?? 0);
    await recordChanged(deps.db, leased, { againAt, error: error.message });
    return error.message;
  }
}

/** Nothing brings such a message back. All else, a revoked token too, may be repaired, and is tried for three days. */
const HOPELESS = new Set([
  'message_not_found',
  'channel_not_found',
  'cant_update_message',
  'edit_window_closed',
  'is_archived',
]);

async function bringUpToDate(
  deps: Deps,
  { slack, publicUrl }: SlackBot,
  leased: LeasedMessage,
): Promise<void> {
  const approval = await findApproval(deps.db, leased.approvalId);
  if (approval === null) return;
  const channel = findChannel(deps.settings.channels, leased.channelName ?? '');
  const message =
    approval.status === 'pending'
      ? await questionFor(deps, publicUrl, approval, channel?.details ?? false)
      : endedMessage(await aboutOf(deps, publicUrl, approval));
  await slack.update(leased.place, message);
}

/** What a message may say about the call's details. They leave our hands only if the channel is configured so. */
export async function shownIn(deps: Deps, approval: ApprovalRecord, details: boolean): Promise<Shown> {
  if (approval.shows === 0) return 'none';
  if (!details) return 'on the page';
  const found = await deps.details.find(approval);
  return found === null ? 'gone' : beginningOf(found);
}

async function aboutOf(deps: Deps, publicUrl: string, approval: ApprovalRecord): Promise<About> {
  const [key, votes] = await Promise.all([
    findKey(deps.db, approval.keyId),
    listVotes(deps.db, [approval.id]),
  ]);
  return {
    ...(await callFacts(deps, approval, key)),
    approval,
    approvedBy: votes.map(({ by }) => by),
    pageUrl: `${publicUrl}/dashboard/approvals/${approval.id}`,
  };
}
