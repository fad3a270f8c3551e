// The names of channels, which are ways in which the link of an approval reaches people. They are declared in the server
// file; rules and keys name them. The name `default` stands for the service's own settings, so no declared channel has it.

import { didYouMean } from '../text/did-you-mean.ts';

/** What is declared under each name. core/channels has the types of channels. */
type Declared<Channel = unknown> = Readonly<Record<string, Channel>>;

export const DEFAULT_CHANNEL = 'default';
export const MAX_CHANNELS = 100;

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function isChannelName(name: string): boolean {
  return NAME.test(name);
}
export const CHANNEL_NAME_FORM =
  'is no name for a channel: it has 1 to 64 letters, digits, _, . and -, and begins with a letter or a digit';

/** The names of objects' own parts, such as `constructor`, are names like all others. */
export function findChannel<Channel>(channels: Declared<Channel>, name: string): Channel | null {
  return Object.hasOwn(channels, name) ? (channels[name] ?? null) : null;
}

/** Whether a rule or a key may name this channel. */
export function isKnownChannel(channels: Declared, name: string): boolean {
  return name === DEFAULT_CHANNEL || findChannel(channels, name) !== null;
}

/** The message about a name that no channel has. A question by such a channel would reach nobody. */
export function unknownChannel(channels: Declared, name: string): string {
  const meant = didYouMean(name, [DEFAULT_CHANNEL, ...Object.keys(channels)]);
  return `there is no channel "${name}" under channels in the server file (toolgate.yaml).${meant}`;
}
