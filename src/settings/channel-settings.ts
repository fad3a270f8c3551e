// Reads the named channels of the server file. Nothing in them is ignored: a channel that was declared wrongly would
// send the questions of a rule to nobody. Addresses and headers may be secrets, so no message quotes them.

import type { DeclaredFields } from '../core/channels/channel-type.ts';
import { CHANNEL_TYPES, type Channel, type Channels, typeOf } from '../core/channels/channels.ts';
import { DEFAULT_CHANNEL, isChannelName, MAX_CHANNELS } from '../core/policy/channel.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { isObject } from '../core/wire/json.ts';
import { type Complain, type Fields, headers, text, url } from './request-settings.ts';
import { ConfigError } from './server-file.ts';

/** `file` is the server file's path, for messages. */
export function readChannels(file: string | null, value: unknown): Channels {
  const wrong = (what: string) => new ConfigError(`${file}: channels${what}`);
  if (!isObject(value)) throw wrong(' must be an object: { <name>: { type, … } }.');
  const names = Object.keys(value);
  if (names.length > MAX_CHANNELS)
    throw wrong(` has ${names.length} channels: at most ${MAX_CHANNELS} are possible.`);
  const channels: Record<string, Channel> = Object.create(null);
  for (const name of names) {
    if (name === DEFAULT_CHANNEL)
      throw wrong(
        '.default cannot be declared: it stands for the settings of the service (mail, Slack, notifier, terminal).',
      );
    if (!isChannelName(name))
      throw wrong(
        `: ${JSON.stringify(name.slice(0, 100))} is no name: use 1 to 64 letters, digits, "-", "_" or ".", a letter or digit first.`,
      );
    channels[name] = readChannel(value[name], what => wrong(`.${name}${what}`));
  }
  return channels;
}

function readChannel(value: unknown, wrong: Complain): Channel {
  if (!isObject(value)) throw wrong(' must be an object: { type, … }.');
  const { type: given, details = false, ...fields } = value;
  const type = CHANNEL_TYPES.find(each => each === given);
  if (type === undefined) throw wrong(typeFault(given));
  const { fields: names, read } = typeOf({ type });
  const odd = Object.keys(fields).find(each => !names.includes(each));
  if (odd !== undefined) {
    const known = ['type', ...names, 'details'];
    throw wrong(
      ` has the unknown field "${odd}"; known with type ${type}: ${known.join(', ')}.${didYouMean(odd, known)}`,
    );
  }
  if (typeof details !== 'boolean') throw wrong('.details must be true or false.');
  return { type, ...read(declared(fields, wrong)), details } as Channel;
}

function declared(given: Fields, wrong: Complain): DeclaredFields {
  return {
    given,
    wrong,
    url: (name, what) => url(given, name, what, wrong),
    text: (name, form, what) => text(given, name, form, what, wrong),
    headers: () => headers(given, wrong),
  };
}

function typeFault(given: unknown): string {
  const known = CHANNEL_TYPES.join(', ');
  if (given === undefined) return ` needs "type": one of ${known}.`;
  const meant = typeof given === 'string' ? didYouMean(given, CHANNEL_TYPES) : '';
  return `.type is ${JSON.stringify(given)}: it must be one of ${known}.${meant}`;
}
