// Reads the named channels of the server file. Nothing in them is ignored: a channel that was declared wrongly would
// send the questions of a rule to nobody. Addresses and headers may be secrets, so no message quotes them.

import {
  CHANNEL_TYPES,
  type Channel,
  type Channels,
  DEFAULT_CHANNEL,
  isChannelName,
  MAX_CHANNELS,
} from '../core/policy/channel.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { isObject } from '../core/wire/json.ts';
import { type Complain, type Fields, headers, url } from './request-settings.ts';
import { ConfigError } from './server-file.ts';
import { isEmail } from './setting-readers.ts';

type Type = Channel['type'];

const MAX_ADDRESSES = 50;
const SLACK_CHANNEL = /^#?[^\s#,<>]{1,80}$/;

const FIELDS: Record<Type, readonly string[]> = {
  email: ['to'],
  slack: ['webhookUrl', 'channel'],
  teams: ['url'],
  http: ['url', 'headers'],
};

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
  const odd = Object.keys(fields).find(each => !FIELDS[type].includes(each));
  if (odd !== undefined) {
    const known = ['type', ...FIELDS[type], 'details'];
    throw wrong(
      ` has the unknown field "${odd}"; known with type ${type}: ${known.join(', ')}.${didYouMean(odd, known)}`,
    );
  }
  if (typeof details !== 'boolean') throw wrong('.details must be true or false.');
  switch (type) {
    case 'email':
      return { type, to: addresses(fields, wrong), details };
    case 'slack':
      return { type, ...slackTarget(fields, wrong), details };
    case 'teams':
      return { type, url: url(fields, 'url', 'the address of the workflow', wrong), details };
    case 'http':
      return {
        type,
        url: url(fields, 'url', 'the address that gets the JSON', wrong),
        ...headers(fields, wrong),
        details,
      };
  }
}

function typeFault(given: unknown): string {
  const known = CHANNEL_TYPES.join(', ');
  if (given === undefined) return ` needs "type": one of ${known}.`;
  const meant = typeof given === 'string' ? didYouMean(given, CHANNEL_TYPES) : '';
  return `.type is ${JSON.stringify(given)}: it must be one of ${known}.${meant}`;
}

function addresses({ to }: Fields, wrong: Complain): string[] {
  if (to === undefined || to === null) throw wrong(' needs "to", a list of e-mail addresses.');
  const isList = Array.isArray(to) && to.length >= 1 && to.length <= MAX_ADDRESSES;
  if (!isList) throw wrong(`.to must be a list of 1 to ${MAX_ADDRESSES} e-mail addresses.`);
  const odd = to.find(each => typeof each !== 'string' || !isEmail(each));
  if (odd !== undefined) throw wrong(`.to has ${JSON.stringify(odd)}, which is no e-mail address.`);
  return to as string[];
}

function slackTarget(fields: Fields, wrong: Complain): { webhookUrl: string } | { channel: string } {
  const { webhookUrl, channel } = fields;
  if (webhookUrl !== undefined && channel !== undefined)
    throw wrong(' has both "webhookUrl" and "channel": a channel has one of them.');
  if (webhookUrl !== undefined)
    return { webhookUrl: url(fields, 'webhookUrl', 'the incoming webhook', wrong) };
  if (channel === undefined)
    throw wrong(
      ' needs "webhookUrl", an incoming webhook, or "channel", a channel for messages with buttons.',
    );
  if (typeof channel !== 'string' || !SLACK_CHANNEL.test(channel))
    throw wrong(
      '.channel must be the name or the id of a channel in Slack, in quotation marks: "#approvals" or "C0123456789".',
    );
  return { channel };
}
