// Finds out by which channels people learn of a question: those that its rule names, else those of its key, else the
// service's own settings, which are the channel `default`. ask.ts writes the notifications, and notify/ sends them.

import { DEFAULT_CHANNEL, findChannel } from '../../core/policy/channel.ts';
import type { Rule } from '../../core/policy/policy.ts';
import { parseDuration } from '../../core/time/duration.ts';
import type { KeyFacts } from '../../store/keys.ts';
import type { ChannelKind } from '../../store/notifications.ts';
import type { Deps } from '../deps.ts';
import { decryptNotify, type KeyNotify } from '../keys.ts';

/** One way in which people learn of a question. */
export interface Carrier {
  channel: ChannelKind;
  /** Null if neither the rule nor the key names a channel. */
  name: string | null;
  /** How long the question waits before it is sent this way. */
  afterMs: number;
}

/** Throws if the key's setting cannot be decrypted. */
export function carriersOf(
  deps: Deps,
  { id, notifyEncrypted }: Pick<KeyFacts, 'id' | 'notifyEncrypted'>,
  { notify, escalate }: Pick<Rule, 'notify' | 'escalate'>,
): Carrier[] {
  const first =
    notify === undefined
      ? carriersOfKey(deps, decryptNotify(deps.vault, id, notifyEncrypted))
      : named(deps, notify, 0);
  if (escalate === undefined) return first;
  return [...first, ...named(deps, escalate.notify, parseDuration(escalate.after) ?? 0)];
}

function carriersOfKey(deps: Deps, notify: KeyNotify | null): Carrier[] {
  if (Array.isArray(notify)) return named(deps, notify, 0);
  const own: ChannelKind[] = [];
  if (notify?.emails?.length) own.push('email');
  if (notify?.slackWebhookUrl) own.push('slack');
  if (notify?.url) own.push('http');
  const kinds = own.length > 0 ? own : deps.settings.defaultChannels;
  return kinds.map(channel => ({ channel, name: null, afterMs: 0 }));
}

/** A name that is not declared any more has a carrier too, so that people see that nobody was told. */
function named({ settings }: Deps, names: readonly string[], afterMs: number): Carrier[] {
  return [...new Set(names)].flatMap(name =>
    name === DEFAULT_CHANNEL
      ? settings.defaultChannels.map(channel => ({ channel, name, afterMs }))
      : [{ channel: findChannel(settings.channels, name)?.type ?? 'unknown', name, afterMs }],
  );
}
