// What people read of a reason (reason.ts), in English. Agents, the API, webhooks and pages get these sentences, and whoever
// verifies an exported log compares them with the codes: a sentence that is to change needs a code of its own.

import type { NoPlace } from '../policy/situation.ts';
import { joinName } from '../text/name.ts';
import type {
  HandedTo,
  HeldFor,
  NotApplying,
  PassedOver,
  QuestionOutcome,
  Reason,
  WhyNotFreed,
} from './reason.ts';

interface Call {
  serverName: string;
  toolName: string;
}

export function reasonText(reason: Reason, { serverName, toolName }: Call): string {
  switch (reason.code) {
    case 'relayed':
      return `This key's setting forwards ${toolName} to ${serverName}${noPlaceText(reason.noPlace)}.`;
    case 'outside_scope':
      return `${joinName(serverName, toolName)} is outside this session's scopeTools.`;
    case 'no_rule':
      return `No rule of policy "${reason.policy}" matches ${joinName(serverName, toolName)}; unmatched calls are denied.${nearestText(reason.nearest)}`;
    default:
      return byRuleText(reason, joinName(serverName, toolName));
  }
}

type ByRule = Extract<Reason, { rule: number }>;

function byRuleText(reason: ByRule, name: string): string {
  const rule = `Rule ${numbered(reason)} of policy "${reason.policy}"`;
  switch (reason.code) {
    case 'allows':
      return `${rule} allows ${name}${noPlaceText(reason.noPlace)}.`;
    case 'denies':
      return `${reason.text ?? `${rule} denies ${name}${failedText(reason.condition)}.`}${nearestText(reason.nearest)}`;
    case 'asks':
      return answered(`${rule} requires approval for ${name}${failedText(reason.condition)}`, reason);
    case 'drifted':
      return answered(
        `${rule} ${reason.asks ? 'requires approval for' : 'allows'} ${name}, but the definition of the tool has changed and no operator has accepted it${soItAsks(reason)}`,
        reason,
      );
    case 'unaccepted':
      return answered(
        `${rule} ${reason.asks ? 'requires approval for' : 'allows'} ${name}, but ${HELD_FOR[reason.why]}${soItAsks(reason)}`,
        reason,
      );
    case 'used_up':
      return answered(
        `${rule} allows ${name}, but its limit "${reason.limit}" is used up (${reason.atMost} ${reason.window} per ${reason.per})${soItAsks(reason)}`,
        reason,
      );
    case 'no_subject':
      return `${rule} allows ${name}, but its limit "${reason.limit}" counts per ${reason.per}, and this call has none.${nearestText(reason.nearest)}`;
    case 'unmetered':
      return `${rule} may allow ${name} within its limit "${reason.limit}", but ${UNSEEN}.${nearestText(reason.nearest)}`;
  }
}

const HELD_FOR: Record<HeldFor, string> = {
  nobody: 'nobody has accepted the definition of the tool',
  hidden: 'the definition of the tool has hidden characters and nobody has accepted it',
  shadows: 'the tool is spelled like another tool of this key and nobody has accepted its definition',
  names_tool: 'the definition of the tool names a tool of another server and nobody has accepted it',
  lock_file: 'the lock file does not have the definition of the tool',
};

const UNSEEN = 'its arguments are not known here';

/** A rule may have a name, which stands behind its number. */
const numbered = ({ rule, ruleName }: Pick<PassedOver, 'rule' | 'ruleName'>): string =>
  ruleName === undefined ? String(rule) : `${rule} ("${ruleName}")`;

const failedText = (condition: number | undefined): string =>
  condition === undefined ? '' : `: its ${notApplyingText({ condition, why: 'failed' })}`;

const soItAsks = ({ answer }: { answer?: QuestionOutcome | undefined }): string =>
  answer === undefined ? '' : ', so it requires approval';

interface Answered {
  answer?: QuestionOutcome | undefined;
  nearest?: PassedOver | undefined;
  noPlace?: NoPlace | undefined;
}

/** The sentence about what asks, followed by the outcome of the question. */
function answered(asks: string, { answer, nearest, noPlace }: Answered): string {
  const near = nearestText(nearest);
  switch (answer?.is) {
    case undefined:
      return `${asks}.${near}`;
    case 'freed': {
      const by = answer.by === 'grant' ? 'a grant opened by approval' : 'approval';
      return `${asks}; freed by ${by} ${answer.referenceId}${noPlaceText(noPlace)}.`;
    }
    case 'denied':
      // The note that the person wrote goes to the agent, and is not part of the reason.
      return `A person denied this call.${near}`;
    case 'too_many':
      return `${asks}, but this ${answer.of} already has ${answer.open} open approvals.${named(answer)}${near}`;
    case 'unseen':
      return `${asks}, but ${UNSEEN}.${named(answer)}${near}`;
    case 'waits': {
      const handed = answer.handedTo === undefined ? '' : ` ${HANDED_TO[answer.handedTo]}`;
      return `${asks}.${answer.text === undefined ? '' : ` ${answer.text}`}${named(answer)}${near}${handed}`;
    }
  }
}

const named = ({ whyNotFreed }: { whyNotFreed?: WhyNotFreed | undefined }): string =>
  whyNotFreed === undefined ? '' : ` ${notFreedText(whyNotFreed)}`;

const HANDED_TO: Record<HandedTo, string> = {
  terminal: 'The person at the terminal decides.',
  proxy: 'The MCP proxy asks for the approval.',
};

const NOT_FREED_TEXTS: Record<Extract<WhyNotFreed, string>, string> = {
  unanswered: 'nobody has answered it yet',
  timed_out: 'it timed out',
  denied: 'it was denied',
  opened_grant: 'it opened a grant, and no grant is open for this call',
  used: 'it has been used',
  withdrawn: 'it was withdrawn',
  too_old: 'it was approved too long ago',
  unknown: 'there is none with this id',
  other_tool: 'it is for another tool',
  other_arguments: 'it is for other arguments',
  other_definition: 'the definition of the tool has changed since',
  other_approvers: 'the rule wants other people to approve this call, or more of them',
  too_few_votes: 'not enough people of the group have approved it',
};

/** The sentence for a caller who named an approval that does not free the call. */
export function notFreedText(whyNotFreed: WhyNotFreed): string {
  const why =
    typeof whyNotFreed === 'string'
      ? NOT_FREED_TEXTS[whyNotFreed]
      : `it was asked for on ${whyNotFreed.asked}, and this is ${whyNotFreed.here}`;
  return `The approval that was named does not free this call: ${why}.`;
}

const NO_PLACE: Record<NoPlace['of'], { calls: string; setting: string }> = {
  key: { calls: 'calls of this key', setting: 'TOOLGATE_MAX_CALLS_PER_KEY' },
  connected_tool: { calls: 'calls of this Connected Tool', setting: 'TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL' },
};

function noPlaceText(noPlace: NoPlace | undefined): string {
  if (noPlace === undefined) return '';
  const { calls, setting } = NO_PLACE[noPlace.of];
  return `, but ${noPlace.atMost} ${calls} are under way, as many as ${setting} allows`;
}

const nearestText = (nearest: PassedOver | undefined): string =>
  nearest === undefined ? '' : ` Rule ${numbered(nearest)} did not apply: ${notApplyingText(nearest.not)}.`;

/** Why a rule that matches by name does not apply, as a part of a sentence. */
export function notApplyingText(not: NotApplying): string {
  switch (not.why) {
    case 'false':
      return `condition ${not.condition} is false`;
    case 'failed':
      return `condition ${not.condition} could not be evaluated`;
    case 'hours':
      return 'it is outside its hours';
    case 'uncounted':
      return `its limit "${not.limit}" cannot count this call`;
  }
}
