// Stages with their layers, and the tensors between them, as a drawing.
//
// Stages stand side by side, at most eight in a row; in a stage each layer stands below those of the same stage that it
// reads from, in columns of at most 14. Above 200 boxes there are only the stages.
#ifndef PLANWRIGHT_CLIENT_PAGE_STAGE_PICTURE_H_
#define PLANWRIGHT_CLIENT_PAGE_STAGE_PICTURE_H_

#include "client/page/picture.h"
#include "client/page/traffic.h"

namespace planwright::client {

Picture StagePicture(const v1::Plan& plan, const Traffic& traffic);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_STAGE_PICTURE_H_
