// Named channels: ways in which the link of an approval reaches people. They are declared in the server file; rules and
// keys name them. The name `default` stands for the service's own settings, so no declared channel has it.

import { didYouMean } from '../text/did-you-mean.ts';

export type Channel = (
  | { type: 'email'; to: readonly string[] }
  | { type: 'slack'; webhookUrl: string }
  /** A channel in Slack to which the bot posts a message whose buttons answer. */
  | { type: 'slack'; channel: string }
  | { type: 'teams'; url: string }
  | { type: 'http'; url: string; headers?: Readonly<Record<string, string>> }
) & {
  /** Whether messages may carry what the approver sees of the call. */
  details: boolean;
};

export type Channels = Readonly<Record<string, Channel>>;

export const CHANNEL_TYPES = ['email', 'slack', 'teams', 'http'] as const;
export const DEFAULT_CHANNEL = 'default';
export const MAX_CHANNELS = 100;

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function isChannelName(name: string): boolean {
  return NAME.test(name);
}

/** The names of objects' own parts, such as `constructor`, are names like all others. */
export function findChannel(channels: Channels, name: string): Channel | null {
  return Object.hasOwn(channels, name) ? (channels[name] ?? null) : null;
}

/** Whether a rule or a key may name this channel. */
export function isKnownChannel(channels: Channels, name: string): boolean {
  return name === DEFAULT_CHANNEL || findChannel(channels, name) !== null;
}

/** What is said about a name that no channel has. A question by such a channel would reach nobody. */
export function unknownChannel(channels: Channels, name: string): string {
  const meant = didYouMean(name, [DEFAULT_CHANNEL, ...Object.keys(channels)]);
  return `there is no channel "${name}" under channels in the server file (toolgate.yaml).${meant}`;
}
