'use strict';
// Small, fast filters for web services: have I seen it, how hot is it, is it blocked, is there anything to fetch?
// index.d.ts describes every class and function.

const { MankaiError, core } = require('./lib/common.js');
const { Filter, Removal, kinds, plan, verify, verifySync } = require('./lib/filter.js');
const { Confirmed, ConfirmedSeen, Hot, Seen } = require('./lib/questions.js');
const { Answer, Guard } = require('./lib/guard.js');
const { Gate, GateFollower } = require('./lib/gate.js');
const url = require('./lib/url.js');
const { guardMiddleware } = require('./lib/web.js');

module.exports = {
  Answer, Confirmed, ConfirmedSeen, Filter, Gate, GateFollower, Guard, Hot, MankaiError, Removal, Seen, guardMiddleware, kinds,
  plan, url, verify, verifySync, version: core.version,
};
