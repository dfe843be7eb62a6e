#include "operation/taker.h"

void operation_taker_set(struct operation_taker *taker, operation_accept *accept, void *arg) {
    pthread_mutex_lock(&taker->lock);
    taker->accept = accept;
    taker->arg = arg;
    pthread_mutex_unlock(&taker->lock);
}
