// Whether messages about approvals reach people: for each channel whether its newest messages were sent, and a test
// message that is sent at once, in the same way as a real one. A test asks nothing: its links lead to no approval.

import { typeOf } from '../../../core/channels/channels.ts';
import { approvalLinks, type NotificationMessage } from '../../../core/channels/message.ts';
import { GuardError } from '../../../core/errors.ts';
import { DEFAULT_CHANNEL } from '../../../core/policy/channel.ts';
import { type ChannelKind, listNewestOf, type SentMessage } from '../../../store/notifications.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../ids.ts';
import type { NotifySettings } from './notify.ts';
import { type Route, type RouteSettings, routeOf } from './route.ts';
import { sendBy } from './send.ts';

/** How many of the newest messages are looked at for each channel. */
export const NEWEST = 100;

export type ChannelState = 'ok' | 'failing' | 'unused';

export interface ChannelHealth {
  name: string;
  type: ChannelKind;
  /** Where it leads, so that it can be recognised: neither addresses nor secrets. */
  target: string | null;
  state: ChannelState;
  /** Of its newest messages: how many were sent, wait to be sent, or were given up. */
  sent: number;
  waiting: number;
  failed: number;
  lastSentAt: number | null;
  lastErrorAt: number | null;
  lastError: string | null;
}

interface Known {
  name: string;
  type: ChannelKind;
}

/** The service's own settings first, then the named channels in their order. */
function knownChannels({ settings }: Deps): Known[] {
  const own = settings.defaultChannels.map(type => ({ name: DEFAULT_CHANNEL, type }));
  return [...own, ...Object.entries(settings.channels).map(([name, { type }]) => ({ name, type }))];
}

/** A message for which nobody named a channel counts for `default`, also if it went to an address of its key. */
export async function channelHealth(deps: Deps, settings: RouteSettings): Promise<ChannelHealth[]> {
  const all: ChannelHealth[] = [];
  for (const known of knownChannels(deps)) {
    const newest = await listNewestOf(deps.db, known.name, known.type, NEWEST);
    if (known.name === DEFAULT_CHANNEL)
      newest.push(...(await listNewestOf(deps.db, null, known.type, NEWEST)));
    all.push({ ...known, target: targetOf(routeTo(settings, known)), ...healthOf(newest) });
  }
  return all;
}

function healthOf(messages: readonly SentMessage[]): Omit<ChannelHealth, 'name' | 'type' | 'target'> {
  const tried = messages
    .filter(each => each.attemptedAt !== null)
    .sort((a, b) => (b.attemptedAt ?? 0) - (a.attemptedAt ?? 0));
  const count = (status: SentMessage['status']) => messages.filter(each => each.status === status).length;
  const lastSent = tried.find(each => each.status === 'sent');
  const lastFailed = tried.find(each => each.lastError !== null);
  return {
    state: tried[0] === undefined ? 'unused' : tried[0].lastError === null ? 'ok' : 'failing',
    sent: count('sent'),
    waiting: count('pending'),
    failed: count('failed'),
    lastSentAt: lastSent?.attemptedAt ?? null,
    lastErrorAt: lastFailed?.attemptedAt ?? null,
    lastError: lastFailed?.lastError ?? null,
  };
}

function routeTo(settings: RouteSettings, { name, type }: Known): Route | string {
  return routeOf(settings, { channel: type, channelName: name }, null);
}

function targetOf(route: Route | string): string | null {
  if (typeof route === 'string' || route.channel.type === 'terminal') return null;
  return typeOf(route.channel).target(route.channel);
}

export interface TestResult {
  type: ChannelKind;
  /** What went wrong; null if the message was taken. */
  error: string | null;
}

/** Sends a test message by each way of a channel. */
export async function testChannel(deps: Deps, settings: NotifySettings, name: string): Promise<TestResult[]> {
  const ways = knownChannels(deps).filter(each => each.name === name);
  if (ways.length === 0) throw new GuardError('not_found', 'There is no channel with this name.');
  return Promise.all(
    ways.map(async known => ({ type: known.type, error: await sendTest(deps, settings, known) })),
  );
}

async function sendTest(deps: Deps, settings: NotifySettings, known: Known): Promise<string | null> {
  const route = routeTo(settings, known);
  if (typeof route === 'string') return route;
  const { channel } = route;
  const { slack } = settings;
  if (channel.type === 'terminal') return 'messages are only printed on the terminal of the service';
  try {
    if ('channel' in channel && slack !== null) {
      const text = { type: 'plain_text', text: TEST, emoji: false };
      await slack.post(channel.channel, { text: TEST, blocks: [{ type: 'section', text }] });
    } else await sendBy(settings, route, testMessage(settings.publicUrl, deps.now()));
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

const TEST = 'This is a test message of Toolgate. Nobody has to answer it.';
const LAPSES_MS = 60_000;

function testMessage(publicUrl: string, now: number): NotificationMessage {
  const id = newId();
  return {
    id,
    referenceId: id,
    keyName: 'test',
    sessionLabel: null,
    personEmail: null,
    serverName: 'toolgate',
    toolName: 'test_message',
    reason: TEST,
    expiresAt: new Date(now + LAPSES_MS).toISOString(),
    ...approvalLinks(publicUrl, 'test'),
    approverGroup: null,
    votesNeeded: 1,
    proof: null,
    details: null,
    reviewFirst: false,
    marks: [],
    askedAt: new Date(now).toISOString(),
  };
}
