// Finds out where a notification goes: to a named channel, to the service's own settings, or to the targets of its key.
// The settings are read when it is sent, so a changed address is used by the next attempt.

import type { Channel, Channels } from '../../../core/channels/channels.ts';
import { DEFAULT_CHANNEL, findChannel } from '../../../core/policy/channel.ts';
import type { ChannelKind, LeasedNotification } from '../../../store/notifications.ts';
import type { KeyNotify, NotifyTargets } from '../../keys.ts';
import type { TargetRules } from '../../outgoing/addresses.ts';

/** The addresses of the service's own settings, which are the channel `default`, and the named channels. */
export interface RouteSettings {
  approverEmails: readonly string[];
  slackWebhookUrl: string | null;
  notifyUrl: string | null;
  channels: Channels;
  /**
   * The rules for targets that were set through the API. Targets in the service's own settings may be at any address.
   */
  rules: TargetRules;
}

export interface Route {
  channel: Channel | { type: 'terminal'; details: false };
  rules: TargetRules;
}

const OPERATORS_OWN: TargetRules = { allowPrivate: true };

/** A sentence that says what is wrong, if the notification has no address. */
export function routeOf(
  settings: RouteSettings,
  { channel: kind, channelName: name }: Pick<LeasedNotification, 'channel' | 'channelName'>,
  notify: KeyNotify | null,
): Route | string {
  if (name !== null && name !== DEFAULT_CHANNEL) {
    const channel = findChannel(settings.channels, name);
    return channel === null ? undeclared(name) : { channel, rules: OPERATORS_OWN };
  }
  const own = name === null && notify !== null && !Array.isArray(notify) ? ownChannel(kind, notify) : null;
  if (own !== null) return { channel: own, rules: settings.rules };
  const channel = defaultChannel(kind, settings);
  return channel === null ? NO_ADDRESS : { channel, rules: OPERATORS_OWN };
}

export const NO_ADDRESS = 'this channel has no address any more';

function undeclared(name: string): string {
  return `the channel "${name}" is not declared under channels in the server file (toolgate.yaml)`;
}

function ownChannel(kind: ChannelKind, { emails, slackWebhookUrl, url }: NotifyTargets): Channel | null {
  const details = false;
  if (kind === 'email' && emails !== undefined) return { type: 'email', to: emails, details };
  if (kind === 'slack' && slackWebhookUrl !== undefined)
    return { type: 'slack', webhookUrl: slackWebhookUrl, details };
  return kind === 'http' && url !== undefined ? { type: 'http', url, details } : null;
}

function defaultChannel(kind: ChannelKind, settings: RouteSettings): Route['channel'] | null {
  const { approverEmails: to, slackWebhookUrl: webhookUrl, notifyUrl: url } = settings;
  const details = false;
  if (kind === 'terminal') return { type: 'terminal', details };
  if (kind === 'email') return { type: 'email', to, details };
  if (kind === 'slack' && webhookUrl !== null) return { type: 'slack', webhookUrl, details };
  return kind === 'http' && url !== null ? { type: 'http', url, details } : null;
}
