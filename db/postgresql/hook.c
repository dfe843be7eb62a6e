#include "db/postgresql/postgresql.h"

void postgresql_hook(struct postgresql_db *db, enum db_event event) {
    pthread_mutex_lock(&db->hook_lock);
    if (db->hooks[event].run)
        db->hooks[event].run(db->hooks[event].arg);
    pthread_mutex_unlock(&db->hook_lock);
}
