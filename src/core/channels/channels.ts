// The types of channels, a line each. Whatever differs between them is in their files.

import type { ChannelType, DeclaredFields, PostedType } from './channel-type.ts';
import { email } from './email.ts';
import { http } from './http.ts';
import { slack } from './slack.ts';
import { teams } from './teams.ts';

const TYPES = {
  email,
  slack,
  teams,
  http,
};

type Types = typeof TYPES;
type TypeName = keyof Types;

type SettingsOf<Name extends TypeName> = Types[Name] extends ChannelType<infer Settings> ? Settings : never;

interface Common {
  /** Whether messages may carry what the approver sees of the call. */
  details: boolean;
}

/** A channel, as it was declared. */
export type Channel = { [Name in TypeName]: { type: Name } & SettingsOf<Name> & Common }[TypeName];

/** Channels by their names. */
export type Channels = Readonly<Record<string, Channel>>;

/** A channel whose messages are a request each. */
export type PostedChannel = Extract<
  Channel,
  { type: { [Name in TypeName]: Types[Name] extends { post: unknown } ? Name : never }[TypeName] }
>;

export const CHANNEL_TYPES = Object.keys(TYPES) as [TypeName, ...TypeName[]];

type Described<Type> = Omit<Type, 'read'> & {
  /** Returns the settings of this one type. */
  read: (declared: DeclaredFields) => object;
};

/** What the file of its type says about a channel, which is to be given that same channel. */
export const typeOf = ({ type }: { type: TypeName }): Described<ChannelType<Channel>> =>
  TYPES[type] as Described<ChannelType<Channel>>;

export const postedType = ({ type }: PostedChannel): Described<PostedType<PostedChannel>> =>
  TYPES[type] as Described<PostedType<PostedChannel>>;
