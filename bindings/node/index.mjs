import mankai from './index.js';

export const {
  Answer, Confirmed, ConfirmedSeen, Filter, Gate, GateFollower, Guard, Hot, MankaiError, Removal, Seen, guardMiddleware, kinds,
  plan, url, verify, verifySync, version,
} = mankai;
export default mankai;
